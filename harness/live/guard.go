package live

import (
	"io"
	"log"
	"net"
	"net/http"
	"strings"
)

// policy lets the page load what this server gives and nothing else.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// guard sets strict headers and turns away what a browser should not ask: a
// request whose Host is a name that nobody gave this server comes from a page
// of that name, which was rebound to this address to read it.
func guard(host string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		if !ownHost(r.Host, host) {
			http.Error(w, "this is a page of kbench run --serve; open it by its address, as kbench printed it", http.StatusMisdirectedRequest)
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			h.Set("Allow", "GET, HEAD")
			http.Error(w, "nothing can be changed here", http.StatusMethodNotAllowed)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// ownHost reports whether a Host header is one of this server's: an address,
// which no name server can rebind, localhost, or the name that it was told to
// listen on.
func ownHost(header, given string) bool {
	name := header
	if host, _, err := net.SplitHostPort(header); err == nil {
		name = host
	}
	name = strings.TrimSuffix(strings.Trim(name, "[]"), ".")
	return net.ParseIP(name) != nil || strings.EqualFold(name, "localhost") || name != "" && strings.EqualFold(name, strings.TrimSuffix(given, "."))
}

// silent is a logger for net/http's complaints about clients: they are no
// business of a run's output.
func silent() *log.Logger { return log.New(io.Discard, "", 0) }
