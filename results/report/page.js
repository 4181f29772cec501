// The page is whole without this: it adds a switch of colours, buttons to
// copy, and timelines that can be zoomed.
(function () {
  "use strict";
  var root = document.documentElement;
  var listeners = [];

  function element(name, text, parent) {
    var e = document.createElement(name);
    e.textContent = text;
    if (parent) parent.appendChild(e);
    return e;
  }

  // Colours: as the system, light or dark. Where storage is barred, the choice
  // lasts as long as the page.
  var themes = ["auto", "light", "dark"];
  var theme = "auto";
  try { theme = themes.indexOf(localStorage.getItem("kbench-theme")) < 0 ? "auto" : localStorage.getItem("kbench-theme"); } catch (e) { theme = "auto"; }
  var toggle = element("button", "", document.getElementById("tools"));
  toggle.type = "button";
  toggle.id = "theme";
  function show() {
    if (theme === "auto") root.removeAttribute("data-theme"); else root.setAttribute("data-theme", theme);
    toggle.textContent = "Colours: " + theme;
    listeners.forEach(function (f) { f(); });
  }
  toggle.addEventListener("click", function () {
    theme = themes[(themes.indexOf(theme) + 1) % themes.length];
    try { localStorage.setItem("kbench-theme", theme); } catch (e) { /* for this page only */ }
    show();
  });
  show();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);

  // Copying. The text stays selected where the clipboard is barred.
  document.querySelectorAll(".code pre").forEach(function (pre) {
    var button = document.createElement("button");
    button.type = "button";
    button.textContent = "Copy";
    button.setAttribute("aria-label", "Copy: " + pre.parentNode.querySelector("h3").textContent);
    pre.parentNode.insertBefore(button, pre.parentNode.firstChild);
    button.addEventListener("click", function () {
      getSelection().selectAllChildren(pre);
      var done = function (ok) { button.textContent = ok ? "Copied" : "Selected"; };
      if (navigator.clipboard) navigator.clipboard.writeText(pre.textContent).then(function () { done(true); }, function () { done(false); });
      else done(document.execCommand("copy"));
    });
  });

  // A link into a closed part opens it.
  function open(hash) {
    var at = hash.length > 1 && document.getElementById(decodeURIComponent(hash.slice(1)));
    for (; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
  }
  addEventListener("hashchange", function () { open(location.hash); });
  open(location.hash);

  // Paper shows what is folded; browsers that cannot say so in style are helped.
  var folded = [];
  addEventListener("beforeprint", function () {
    folded = [].slice.call(document.querySelectorAll("details:not([open])"));
    folded.forEach(function (d) { d.open = true; });
  });
  addEventListener("afterprint", function () { folded.forEach(function (d) { d.open = false; }); });

  if (typeof uPlot === "undefined") return;

  function colour(name) { return getComputedStyle(root).getPropertyValue(name).trim(); }

  function bytes(v) {
    var units = ["B", "kB", "MB", "GB", "TB"], i = 0;
    for (; v >= 1000 && i < units.length - 1; i++) v /= 1000;
    return +v.toPrecision(3) + " " + units[i];
  }

  // Faults are shaded beneath the lines, as in the static chart.
  function shade(faults) {
    return function (u) {
      var c = u.ctx;
      c.save();
      c.fillStyle = colour("--fault");
      faults.forEach(function (f) {
        var from = u.valToPos(f.from, "x", true), to = u.valToPos(f.to, "x", true);
        var left = Math.max(from, u.bbox.left), right = Math.min(to, u.bbox.left + u.bbox.width);
        if (right <= left) return;
        c.globalAlpha = 0.12;
        c.fillRect(left, u.bbox.top, right - left, u.bbox.height);
        c.globalAlpha = 1;
        if (from >= u.bbox.left) c.fillRect(from, u.bbox.top, 1, u.bbox.height);
      });
      c.restore();
    };
  }

  function plot(host, data, lane, sync) {
    var line = colour("--s" + data.side % 6), muted = colour("--muted"), grid = colour("--line");
    var value = lane.bytes ? bytes : function (v) { return String(+v.toPrecision(3)); };
    var series = [{ label: "time", value: function (u, v) { return v == null ? "–" : v.toFixed(2) + " s"; } }];
    lane.series.forEach(function (s) {
      series.push({
        label: s.name, stroke: line, width: 1.25, dash: [[], [6, 4], [2, 3]][s.dash], spanGaps: true, points: { show: false },
        value: function (u, v) { return v == null ? "–" : value(v); }
      });
    });
    return new uPlot({
      title: lane.name, width: host.clientWidth, height: 190, series: series,
      cursor: { sync: { key: sync }, drag: { x: true, y: false } },
      scales: { x: { time: false }, y: { range: function (u, lo, hi) { return [0, (hi || 1) * 1.05]; } } },
      axes: [
        { stroke: muted, grid: { stroke: grid, width: 1 }, values: function (u, vs) { return vs.map(function (v) { return v + " s"; }); } },
        { stroke: muted, grid: { stroke: grid, width: 1 }, size: 64, values: function (u, vs) { return vs.map(value); } }
      ],
      hooks: { drawClear: [shade(data.faults || [])] }
    }, [lane.at].concat(lane.series.map(function (s) { return s.values; })), host);
  }

  document.querySelectorAll(".live").forEach(function (host) {
    var button = element("button", "Zoom and read values", host);
    button.type = "button";
    button.setAttribute("aria-pressed", "false");
    var hint = element("span", "", host);
    hint.className = "hint";
    var charts = element("div", "", host), plots = [];
    function clear() { plots.forEach(function (p) { p.destroy(); }); plots = []; }
    function draw() {
      clear();
      var data = JSON.parse(document.getElementById(host.dataset.source).textContent);
      plots = data.lanes.map(function (lane) { return plot(charts, data, lane, host.dataset.source); });
    }
    function active() { return button.getAttribute("aria-pressed") === "true"; }
    button.addEventListener("click", function () {
      var on = !active();
      button.setAttribute("aria-pressed", String(on));
      hint.textContent = on ? "Drag to zoom, double-click to see all." : "";
      if (on) draw(); else clear();
    });
    listeners.push(function () { if (active()) draw(); });
    var width = innerWidth;
    addEventListener("resize", function () {
      if (active() && innerWidth !== width) plots.forEach(function (p) { p.setSize({ width: charts.clientWidth, height: 190 }); });
      width = innerWidth;
    });
  });
})();
