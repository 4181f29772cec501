package trend

import (
	"fmt"
	"strings"
)

// chartStyle is the look of charts, on light and on dark paper. Colours are
// Okabe and Ito's, which the colour-blind can tell apart; shapes and words say
// the same.
const chartStyle = `text{font:12px system-ui,sans-serif;fill:#222}.t{font-weight:600;font-size:14px}.s{font-size:11px;fill:#555}
.g{stroke:#ddd}.night{fill:#0072b2}.outlier{fill:none;stroke:#0072b2}.invalid{fill:#000;fill-opacity:.15}.noisy{fill:#e69f00;fill-opacity:.3}
.level{stroke:#222;stroke-width:1.5}.change line{stroke-width:1.5}.worse line{stroke:#d55e00}.better line{stroke:#009e73}.accepted line{stroke:#666;stroke-dasharray:4 3}
@media(prefers-color-scheme:dark){text{fill:#ddd}.s{fill:#aaa}.g{stroke:#444}.night{fill:#56b4e9}.outlier{stroke:#56b4e9}.invalid{fill:#fff}.level{stroke:#ddd}.accepted line{stroke:#aaa}}`

// SVG draws every series, one below the other, in one file without script,
// font or link. A chart shows the last 365 nights.
func (r *Report) SVG() string {
	var b strings.Builder
	height := chartHeight * float64(max(len(r.Analyses), 1))
	fmt.Fprintf(&b, "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %g %g\" width=\"%g\" height=\"%g\" role=\"img\" aria-labelledby=\"t d\">\n", chartWidth, height, chartWidth, height)
	charts := make([]*chart, len(r.Analyses))
	words := make([]string, len(r.Analyses))
	for i := range r.Analyses {
		charts[i] = newChart(&r.Analyses[i])
		words[i] = charts[i].summary()
	}
	fmt.Fprintf(&b, "<title id=\"t\">%s</title>\n<desc id=\"d\">%s</desc>\n<style>%s</style>\n", text("Trend: "+r.headline()), text(strings.Join(words, ". ")), chartStyle)
	for i, c := range charts {
		fmt.Fprintf(&b, "<g transform=\"translate(0 %g)\">\n%s</g>\n", chartHeight*float64(i), c.titled())
	}
	if len(charts) == 0 {
		fmt.Fprintf(&b, "<text x=\"24\" y=\"40\">%s</text>\n", text(r.headline()))
	}
	b.WriteString("</svg>\n")
	return b.String()
}

const pageStyle = `:root{color-scheme:light dark}body{font:16px/1.5 system-ui,sans-serif;max-width:960px;margin:0 auto;padding:1rem;background:#fff;color:#222}
table{border-collapse:collapse;width:100%;display:block;overflow-x:auto}th,td{border-bottom:1px solid #ccc;padding:.25rem .5rem;text-align:left;vertical-align:top}
svg{width:100%;height:auto}summary{cursor:pointer}.new{font-weight:700}
@media(prefers-color-scheme:dark){body{background:#161616;color:#ddd}th,td{border-color:#444}}@media print{details{display:none}}`

// HTML is one page that needs no network and runs no script: the verdict, the
// changes as a table, a chart of each series, and its nights.
func (r *Report) HTML() string {
	var b strings.Builder
	title := text("Trend of " + r.History)
	fmt.Fprintf(&b, "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
	fmt.Fprintf(&b, "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n<title>%s</title>\n<style>%s\n%s</style>\n</head>\n<body>\n<main>\n", title, pageStyle, chartStyle)
	fmt.Fprintf(&b, "<h1>%s</h1>\n<p>%s.</p>\n", title, text(r.headline()))
	r.changesTable(&b)
	for i := range r.Analyses {
		a := &r.Analyses[i]
		c := newChart(a)
		fmt.Fprintf(&b, "<section aria-labelledby=\"h%d\">\n<h2 id=\"h%d\">%s</h2>\n", i, i, text(a.Cell+" "+a.title()))
		fmt.Fprintf(&b, "<svg viewBox=\"0 %g %g %g\" role=\"img\" aria-labelledby=\"t%d d%d\"><title id=\"t%d\">%s</title><desc id=\"d%d\">%s</desc>\n%s</svg>\n",
			chartTitle, chartWidth, chartHeight-chartTitle, i, i, i, text(a.Cell+" "+a.title()), i, text(c.summary()), c.draw())
		a.nightsTable(&b)
		b.WriteString("</section>\n")
	}
	b.WriteString("<h2>How it was judged</h2>\n<ul>\n")
	for _, line := range append(append([]string{}, r.Notes...), r.footer()...) {
		fmt.Fprintf(&b, "<li>%s</li>\n", text(line))
	}
	b.WriteString("</ul>\n</main>\n</body>\n</html>\n")
	return b.String()
}

func (r *Report) changesTable(b *strings.Builder) {
	b.WriteString("<h2>Changes</h2>\n")
	rows := 0
	for i := range r.Analyses {
		a := &r.Analyses[i]
		for j := range a.Changes {
			c := &a.Changes[j]
			if rows++; rows == 1 {
				b.WriteString("<table>\n<thead><tr><th scope=\"col\">state</th><th scope=\"col\">cell</th><th scope=\"col\">metric</th><th scope=\"col\">change</th><th scope=\"col\">run</th></tr></thead>\n<tbody>\n")
			}
			fmt.Fprintf(b, "<tr><td class=\"%s\">%s</td><td>%s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
				c.State, c.State, text(a.Cell), text(a.title()), text(a.describe(c)), text(where(&a.Points[c.Point])))
		}
	}
	if rows == 0 {
		b.WriteString("<p>None.</p>\n")
		return
	}
	b.WriteString("</tbody>\n</table>\n")
}

// nightsTable lists what the chart shows, newest first.
func (a *Analysis) nightsTable(b *strings.Builder) {
	points := a.Points[max(0, len(a.Points)-chartNights):]
	fmt.Fprintf(b, "<details><summary>%s as a table</summary>\n<table>\n<thead><tr><th scope=\"col\">night</th><th scope=\"col\">median</th><th scope=\"col\">n</th><th scope=\"col\">use</th><th scope=\"col\">run</th></tr></thead>\n<tbody>\n", nights(len(points)))
	for i := len(points) - 1; i >= 0; i-- {
		p := &points[i]
		use := string(p.Use)
		if p.Why != "" {
			use += ": " + p.Why
		}
		fmt.Fprintf(b, "<tr><td>%s</td><td>%s</td><td>%d</td><td>%s</td><td>%s</td></tr>\n",
			date(p), text(a.medianOf(p)), p.N, text(use), text(where(p)))
	}
	b.WriteString("</tbody>\n</table>\n</details>\n")
}
