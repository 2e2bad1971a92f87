/* SPDX-License-Identifier: MIT */
/* Zooming and keys of the page. Neither "<" nor "&" may stand in it: it has to read the same as XML. */
'use strict';
const root = document.documentElement, info = document.getElementById('info');
const plans = [...document.querySelectorAll('svg.plan')];
const X = 90, Y = 50, W = 890, H = 500, NS = 'http://www.w3.org/2000/svg';
const frames = plans.map(p => p.querySelector('svg.view'));
const views = plans.map(() => [X, Y, W, H]);
const drawn = plans.map(p => ['axes', 'names'].map(c => p.querySelector('.' + c)).map(g => [g, g.innerHTML]));
const boxes = plans.map(p => [...p.querySelectorAll('.tensor')].map(t => {
  const r = t.querySelector('rect.hull');
  return [t.getAttribute('aria-label'), ...['x', 'y', 'width', 'height'].map(a => Number(r.getAttribute(a)))];
}));
function add(g, name, attributes, text) {
  const e = document.createElementNS(NS, name);
  for (const a of Object.keys(attributes)) e.setAttribute(a, attributes[a]);
  if (text !== undefined) e.textContent = text;
  g.append(e);
}
function bytes(n) {
  const unit = n === 0 ? 0 : Math.min(4, Math.floor(Math.log2(n) / 10));
  return Number((n / 1024 ** unit).toFixed(2)) + ' ' + ['B', 'KiB', 'MiB', 'GiB', 'TiB'][unit];
}
/* Ticks of what is seen: few, and where they were on the whole. */
function axes(g, v, height, steps) {
  const low = (Y + H - v[1] - v[3]) / H * height, high = (Y + H - v[1]) / H * height;
  const by = Math.max(1, 2 ** Math.ceil(Math.log2((high - low) / 8)));
  for (let b = Math.ceil(Math.max(0, low) / by) * by; Math.min(high, height) >= b; b += by) {
    const y = Y + (Y + H - b / height * H - v[1]) / v[3] * H;
    add(g, 'path', { class: 'grid', d: 'M' + X + ' ' + y + 'h' + W });
    add(g, 'text', { class: 'y', x: X - 6, y: y + 4 }, bytes(b));
  }
  const from = (v[0] - X) / W * steps, to = from + v[2] / W * steps;
  let each = 1;
  for (let i = 0; (to - from) / each > 12; i++) each = i % 3 === 1 ? each / 2 * 5 : each * 2;
  for (let p = Math.ceil(Math.max(0, from) / each) * each; Math.min(to, steps - 1) >= p; p += each)
    add(g, 'text', { class: 'x', x: X + (X + p / steps * W - v[0]) / v[2] * W, y: Y + H + 16 }, p);
}
/* Names of the boxes that are seen and have room for one, across or upwards. */
function names(g, v, list) {
  const zoom = W / v[2], taken = [];
  for (const [name, bx, by, bw, bh] of list) {
    const left = Math.max(X, X + (bx - v[0]) * zoom), right = Math.min(X + W, X + (bx + bw - v[0]) * zoom);
    const top = Math.max(Y, Y + (by - v[1]) * zoom), bottom = Math.min(Y + H, Y + (by + bh - v[1]) * zoom);
    const w = right - left, h = bottom - top;
    const across = h >= 12 ? Math.floor(Math.max(0, w) / 5.6) : 0, up = w >= 12 ? Math.floor(Math.max(0, h) / 5.6) : 0;
    const upwards = name.length > across ? up > across : false, room = upwards ? up : across;
    if (name.length > room ? 4 > room : false) continue;
    const text = name.length > room ? '\u2026' + name.slice(1 - room) : name;
    const x = (left + right) / 2, y = (top + bottom) / 2, long = text.length * 2.8;
    const area = upwards ? [x - 6, y - long, x + 6, y + long] : [x - long, y - 6, x + long, y + 6];
    if (taken.some(a => [a[2] > area[0], area[2] > a[0], a[3] > area[1], area[3] > a[1]].every(Boolean))) continue;
    taken.push(area);
    add(g, 'text', upwards ? { class: 'name', transform: 'translate(' + (x + 3.5) + ' ' + y + ') rotate(-90)' } :
      { class: 'name', x: x, y: y + 3.5 }, text);
  }
}
function show(i) {
  const v = views[i], p = plans[i], whole = v[2] === W;
  v[0] = Math.min(Math.max(v[0], X), X + W - v[2]); v[1] = Math.min(Math.max(v[1], Y), Y + H - v[3]);
  frames[i].setAttribute('viewBox', v.join(' '));
  p.classList.toggle('near', W / v[2] > 4);
  for (const [g, home] of drawn[i]) if (whole) g.innerHTML = home; else g.replaceChildren();
  if (!whole) {
    axes(drawn[i][0][0], v, Number(p.dataset.bytes), Number(p.dataset.steps));
    names(drawn[i][1][0], v, boxes[i]);
  }
  for (const guide of p.querySelectorAll('.guides')) {
    const at = Y + H - Number(guide.dataset.byte) / Number(p.dataset.bytes) * H, y = Y + (at - v[1]) / v[3] * H;
    guide.setAttribute('transform', 'translate(0 ' + (y - at) + ')');
    guide.style.display = y > Y + H ? 'none' : y > Y - 1 ? '' : 'none';
  }
}
function zoom(i, by, x, y) {
  const v = views[i];
  if (v[2] * by >= W) { views[i] = [X, Y, W, H]; show(i); return; }
  v[0] = x - (x - v[0]) * by; v[1] = y - (y - v[1]) * by; v[2] *= by; v[3] *= by; show(i);
}
function zoomAll(by) { plans.forEach((p, i) => zoom(i, by, views[i][0] + views[i][2] / 2, views[i][1] + views[i][3] / 2)); }
function moveAll(x, y) { plans.forEach((p, i) => { views[i][0] += x * views[i][2]; views[i][1] += y * views[i][3]; show(i); }); }
function reset() { plans.forEach((p, i) => { views[i] = [X, Y, W, H]; show(i); }); }
function theme() {
  const dark = root.classList.contains('dark') ||
    (!root.classList.contains('light') ? matchMedia('(prefers-color-scheme: dark)').matches : false);
  root.classList.toggle('dark', !dark); root.classList.toggle('light', dark);
}
function peak() { root.classList.toggle('peak-only'); }
function step(by) {
  const all = [...document.querySelectorAll('.tensor')], at = all.indexOf(document.activeElement);
  if (all.length) all[(Math.max(at, by > 0 ? -1 : 0) + by + all.length) % all.length].focus();
}
function describe(element) {
  const tensor = element.closest ? element.closest('.tensor') : null;
  if (!tensor) return '';
  const own = element.querySelector(':scope > title'), all = tensor.querySelector(':scope > title');
  return all.textContent + (own ? (own === all ? '' : '\n\ntile:' + own.textContent.slice(own.textContent.indexOf('\n'))) : '');
}
plans.forEach((p, i) => {
  let drag = null;
  /* In the units of what is in view. */
  function place(e) {
    const at = new DOMPoint(e.clientX, e.clientY).matrixTransform(p.getScreenCTM().inverse()), v = views[i];
    return { x: v[0] + (at.x - X) / W * v[2], y: v[1] + (at.y - Y) / H * v[3] };
  }
  p.addEventListener('wheel', e => { e.preventDefault(); const at = place(e); zoom(i, e.deltaY > 0 ? 1.25 : 0.8, at.x, at.y); }, { passive: false });
  p.addEventListener('pointerdown', e => { drag = place(e); });
  p.addEventListener('pointerup', () => { drag = null; });
  p.addEventListener('pointerleave', () => { drag = null; info.textContent = ''; });
  p.addEventListener('pointermove', e => {
    if (drag) { const at = place(e); views[i][0] += drag.x - at.x; views[i][1] += drag.y - at.y; show(i); }
    else info.textContent = describe(e.target);
  });
  p.addEventListener('focusin', e => { info.textContent = describe(e.target); });
  p.addEventListener('focusout', () => { info.textContent = ''; });
});
const keys = {
  '+': () => zoomAll(0.8), '=': () => zoomAll(0.8), '-': () => zoomAll(1.25), '0': reset,
  ArrowLeft: () => moveAll(-0.1, 0), ArrowRight: () => moveAll(0.1, 0),
  ArrowUp: () => moveAll(0, -0.1), ArrowDown: () => moveAll(0, 0.1),
  n: () => step(1), p: () => step(-1), m: peak, t: theme,
};
addEventListener('keydown', e => {
  if (e.ctrlKey || e.altKey || e.metaKey || !keys[e.key]) return;
  e.preventDefault(); keys[e.key]();
});
for (const [id, action] of [['in', keys['+']], ['out', keys['-']], ['reset', reset], ['peak', peak], ['theme', theme]])
  document.getElementById(id).addEventListener('click', action);
