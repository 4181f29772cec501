'use strict';

// The page only listens. Everything that comes is put in as text.

const maxPoints = 5000;
const maxRows = 200;

const byID = (id) => document.getElementById(id);
const put = (id, text) => { byID(id).textContent = text; };

const trials = [];      // {at, value, target, unit, label}
const samples = [];     // {at, value, p99, metric, unit}
const bands = [];       // {from, to, node}: faults, to is null while one is active
const controllers = []; // {at, text}
let now = 0;

function clock(seconds) {
  const s = Math.max(0, Math.floor(seconds));
  const two = (n) => String(n).padStart(2, '0');
  const minutes = Math.floor(s / 60);
  return minutes >= 60 ? `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(s % 60)}` : `${minutes}:${two(s % 60)}`;
}

function measure(value, unit) {
  if (value === null) return '-';
  if (unit === 'B') return `${Number(value.toPrecision(4))} B`;
  if (unit !== 'ns') return `${Number(value.toPrecision(4))}/s`;
  if (value >= 1) return `${Number(value.toPrecision(4))} s`;
  if (value >= 1e-3) return `${Number((value * 1e3).toPrecision(3))} ms`;
  return `${Number((value * 1e6).toPrecision(3))} µs`;
}

function keep(list, entry) {
  list.push(entry);
  if (list.length > maxPoints) list.shift();
}

function addRow(item) {
  const row = document.createElement('tr');
  const value = item.valid ? measure(item.value, item.unit) : 'invalid';
  for (const text of [clock(item.at), item.cell, item.text, item.metric, value]) {
    const cell = document.createElement('td');
    cell.textContent = text || '';
    row.append(cell);
  }
  if (!item.valid) row.lastChild.className = 'bad';
  byID('rows').prepend(row);
  while (byID('rows').childElementCount > maxRows) byID('rows').lastChild.remove();
}

function addMessage(item) {
  const line = document.createElement('li');
  line.textContent = `${clock(item.at)} ${item.text}`;
  byID('log').prepend(line);
  while (byID('log').childElementCount > maxRows) byID('log').lastChild.remove();
}

const takers = {
  said: addMessage,
  step: addMessage,
  trial(item) {
    addRow(item);
    if (item.valid && item.value !== null) {
      keep(trials, { at: item.at, value: item.value, target: item.target, unit: item.unit, label: `${item.target} ${item.metric}` });
    }
  },
  sample(item) { keep(samples, item); },
  fault(item) { keep(bands, { from: item.at, to: null, node: item.node }); },
  healed(item) {
    const band = bands.findLast((b) => b.node === item.node && b.to === null);
    if (band) band.to = item.at;
  },
  controller(item) { keep(controllers, { at: item.at, text: item.epoch < 0 ? `${item.node}` : `${item.node}, epoch ${item.epoch}` }); },
};

function takeState(s) {
  now = s.elapsed;
  document.title = `${s.name}: ${s.doing}`;
  put('name', s.name);
  put('place', s.place || '-');
  put('doing', s.doing);
  put('metric', s.metric || 'headline');
  put('headline', s.headline || 'no value yet');
  put('controller', s.controller);
  put('faults', s.faults || 'none');
  byID('faults').className = s.faults ? 'bad' : '';
  put('valid', s.valid);
  put('invalid', s.invalid);
  byID('invalid').className = s.invalid ? 'bad' : '';
  put('elapsed', clock(s.elapsed));
  put('left', s.left === null ? '' : `, about ${clock(s.left)} left`);
  draw();
}

function takeOver(o) {
  put('verdict', o.verdict);
  byID('report-line').hidden = !o.report;
  put('report', o.report);
  byID('over').hidden = false;
  put('connection', 'the run is over; this page stays as it is');
}

const events = new EventSource('events');
events.addEventListener('open', () => put('connection', 'live'));
events.addEventListener('error', () => put('connection', 'connection lost; trying again'));
events.addEventListener('item', (e) => {
  const item = JSON.parse(e.data);
  takers[item.kind]?.(item);
});
events.addEventListener('state', (e) => takeState(JSON.parse(e.data)));
events.addEventListener('over', (e) => {
  events.close();
  takeOver(JSON.parse(e.data));
});

// Charts: time runs to the right, values upwards on a logarithmic scale. Only
// one unit is drawn at a time, that of the last value.

const margin = { left: 76, right: 12, top: 14, bottom: 26 };
const hue = (i) => getComputedStyle(document.documentElement).getPropertyValue(`--hue${i % 5}`);
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`);

function draw() {
  const unit = samples.at(-1)?.unit;
  const metric = samples.at(-1)?.metric;
  const line = (key) => samples.flatMap((s, i) => {
    const point = { at: s.at, value: s.metric === metric ? s[key] : null };
    return i > 0 && samples[i - 1].cell !== s.cell ? [{ at: s.at, value: null }, point] : [point];
  });
  drawChart(byID('progress'), unit, [
    { name: `${metric} p50`, joined: true, points: line('value') },
    { name: `${metric} p99`, joined: true, points: line('p99') },
  ]);
  const trialUnit = trials.at(-1)?.unit;
  const series = new Map();
  for (const t of trials) {
    if (t.unit !== trialUnit) continue;
    if (!series.has(t.label)) series.set(t.label, { name: t.label, joined: false, points: [] });
    series.get(t.label).points.push(t);
  }
  drawChart(byID('trials'), trialUnit, [...series.values()]);
}

// Only what is drawn is named, above the chart, where it hides nothing.
function nameSeries(canvas, series) {
  const drawn = series.map((s, i) => [s, i]).filter(([s]) => s.points.some((p) => p.value !== null && p.value > 0));
  canvas.previousElementSibling.replaceChildren(...drawn.map(([s, i]) => {
    const item = document.createElement('li');
    item.textContent = s.name;
    item.style.color = hue(i);
    return item;
  }));
}

function drawChart(canvas, unit, series) {
  nameSeries(canvas, series);
  const scale = window.devicePixelRatio || 1;
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  canvas.width = width * scale;
  canvas.height = height * scale;
  const g = canvas.getContext('2d');
  g.scale(scale, scale);
  g.font = '12px system-ui, sans-serif';
  const values = series.flatMap((s) => s.points.map((p) => p.value)).filter((v) => v !== null && v > 0);
  canvas.spots = [];
  if (values.length === 0) {
    g.fillStyle = colour('quiet');
    g.fillText('no value yet', margin.left, height / 2);
    return;
  }
  const low = Math.floor(Math.log10(values.reduce((a, b) => Math.min(a, b))));
  const high = Math.max(low + 1, Math.ceil(Math.log10(values.reduce((a, b) => Math.max(a, b)))));
  const end = Math.max(now, 1);
  const x = (at) => margin.left + (at / end) * (width - margin.left - margin.right);
  const y = (v) => height - margin.bottom - ((Math.log10(v) - low) / (high - low)) * (height - margin.top - margin.bottom);
  drawBackground(g, { x, y, width, height, low, high, end, unit });
  series.forEach((s, i) => drawSeries(g, canvas, s, hue(i), { x, y, unit }));
}

function drawBackground(g, c) {
  g.fillStyle = colour('band');
  for (const b of bands) {
    g.fillRect(c.x(b.from), margin.top, Math.max(1, c.x(b.to ?? c.end) - c.x(b.from)), c.height - margin.top - margin.bottom);
  }
  g.strokeStyle = colour('line');
  g.fillStyle = colour('quiet');
  g.textAlign = 'right';
  for (let power = c.low; power <= c.high; power++) {
    const at = c.y(10 ** power);
    g.beginPath();
    g.moveTo(margin.left, at);
    g.lineTo(c.width - margin.right, at);
    g.stroke();
    g.fillText(measure(10 ** power, c.unit), margin.left - 6, at + 4);
  }
  g.textAlign = 'center';
  for (let i = 0; i <= 4; i++) {
    g.fillText(clock((c.end * i) / 4), Math.min(c.x((c.end * i) / 4), c.width - 24), c.height - 8);
  }
  g.textAlign = 'left';
  g.setLineDash([4, 4]);
  let free = 0; // where the next label has room
  for (const k of controllers) {
    g.beginPath();
    g.moveTo(c.x(k.at), margin.top);
    g.lineTo(c.x(k.at), c.height - margin.bottom);
    g.stroke();
    if (c.x(k.at) < free) continue;
    g.fillText(k.text, c.x(k.at) + 3, c.height - margin.bottom - 4);
    free = c.x(k.at) + g.measureText(k.text).width + 8;
  }
  g.setLineDash([]);
}

function drawSeries(g, canvas, s, paint, c) {
  g.strokeStyle = paint;
  g.fillStyle = paint;
  g.lineWidth = 2;
  let open = false;
  g.beginPath();
  for (const p of s.points) {
    if (p.value === null || p.value <= 0) {
      open = false;
      continue;
    }
    const px = c.x(p.at);
    const py = c.y(p.value);
    canvas.spots.push({ x: px, y: py, text: `${clock(p.at)} ${s.name}: ${measure(p.value, c.unit)}` });
    if (!s.joined) {
      g.fillRect(px - 3, py - 3, 6, 6);
    } else if (open) {
      g.lineTo(px, py);
    } else {
      g.moveTo(px, py);
    }
    open = true;
  }
  if (s.joined) g.stroke();
  g.lineWidth = 1;
}

for (const canvas of document.querySelectorAll('canvas')) {
  canvas.addEventListener('pointermove', (e) => {
    let best = null;
    let least = 40 * 40;
    for (const s of canvas.spots || []) {
      const d = (s.x - e.offsetX) ** 2 + (s.y - e.offsetY) ** 2;
      if (d < least) [best, least] = [s, d];
    }
    canvas.nextElementSibling.textContent = best ? best.text : '';
  });
}
window.addEventListener('resize', draw);
