/* SPDX-License-Identifier: MIT */
/* What is selected: a step, a tensor, and what is found; and what the page says of them. */
const drawer = document.getElementById('drawer');
const MODES = { 1: 'reads', 2: 'writes', 3: 'updates' };
/* Most lines of a list: what is beyond is counted. */
const LINES = 200;
/* What is selected: @plan is one of plans; @tensor is of its graph, @step a position of its schedule. */
const selected = { plan: plans[0], tensor: -1, step: -1 };

/* An element of the page, with what is in it. */
function element(name, attributes, ...inside) {
  const e = document.createElement(name);
  for (const a of Object.keys(attributes)) if (a === 'onclick') e.onclick = attributes[a]; else e.setAttribute(a, attributes[a]);
  e.append(...inside.filter(x => x !== null));
  return e;
}
/* Names are the model's: they do not turn the text around them. */
const named = text => element('bdi', {}, text);
const exact = n => bytes(n) + (n < 1024 ? '' : ' (' + n + ')');
const count = (n, what) => n + ' ' + what + (n === 1 ? '' : 's');

for (const g of DATA.graphs) {
  g.tensors = g.tensors.map(([name, kind, shape, size, alias, first, flags]) => ({ name, kind, shape, size, alias, first, flags }));
  g.ops = g.ops.map(([name, type, attributes, inputs, outputs]) => ({ name, type, attributes, inputs, outputs }));
  g.steps = g.steps.map(([name, op, flags, list]) => {
    const accesses = [];
    for (let i = 0; i < list.length; i += 4) accesses.push({ tensor: list[i], mode: list[i + 1], first: list[i + 2], bytes: list[i + 3] });
    return { name, op, flags, accesses };
  });
  /* Tensors and steps of another graph are the same if they have the same name as often before. */
  for (const list of [g.tensors, g.steps]) {
    const before = new Map();
    for (const x of list) { before.set(x.name, (before.get(x.name) || 0) + 1); x.key = before.get(x.name) + ' ' + x.name; }
    list.byKey = new Map(list.map((x, i) => [x.key, i]));
  }
}
/* The tensor whose bytes it has. */
const base = (g, t) => g.tensors[t].alias < 0 ? t : base(g, g.tensors[t].alias);
for (const p of plans) {
  const d = p.data, g = p.graph = DATA.graphs[d.graph];
  p.positions = []; p.places = []; p.blocks = []; p.edges = []; p.usesOf = g.tensors.map(() => []); p.placesOf = g.tensors.map(() => []);
  p.positionOf = new Map();
  for (let i = 0; i < d.blocks.length; i += 2) p.blocks.push({ first: d.blocks[i], end: d.blocks[i] + d.blocks[i + 1] });
  for (let i = 0; i < d.edges.length; i += 3) p.edges.push({ from: d.edges[i], to: d.edges[i + 1], carries: g.edges[d.edges[i + 2]] });
  /* Accesses that are in place, by position. */
  p.inPlace = new Map();
  for (let i = 0; i < d.inPlace.length; i += 2) p.inPlace.set(d.inPlace[i], [...(p.inPlace.get(d.inPlace[i]) || []), d.inPlace[i + 1]]);
  for (let i = 0; i < d.placements.length; i += 5) {
    const [tensor, first, length, from, to] = d.placements.slice(i, i + 5);
    p.placesOf[tensor].push(p.places.length);
    p.places.push({ tensor, first, length, from, to });
  }
  for (let i = 0; i < d.positions.length; i += 3) {
    const [kind, index, moved] = d.positions.slice(i, i + 3), at = i / 3;
    p.positions.push({ kind, index, moved });
    if (kind) { p.usesOf[index].push({ at, word: KINDS[kind] }); continue; }
    p.positionOf.set(index, at);
    const words = new Map();
    for (const a of g.steps[index].accesses) words.set(base(g, a.tensor), (words.get(base(g, a.tensor)) || 0) | a.mode);
    for (const [t, mode] of words) p.usesOf[t].push({ at, word: MODES[mode], writes: mode > 1 });
  }
}
/* The same tensor, or step, in another plan; -1: it has none. */
function sameTensor(from, t, to) {
  if (t < 0 || from.graph === to.graph) return t;
  const found = to.graph.tensors.byKey.get(from.graph.tensors[t].key);
  return found === undefined ? -1 : found;
}
function samePosition(from, at, to) {
  if (at < 0 || from === to) return at;
  const of = from.positions[at];
  if (of.kind) return -1;
  const step = from.graph === to.graph ? of.index : to.graph.steps.byKey.get(from.graph.steps[of.index].key);
  const found = to.positionOf.get(step);
  return found === undefined ? -1 : found;
}
const positionName = (p, at) => {
  const of = p.positions[at];
  return of.kind ? KINDS[of.kind] + ' ' + p.graph.tensors[of.index].name : p.graph.steps[of.index].name;
};

/* ------------------------------------------------------------------ what is said of it */

const stepButton = (p, at) => element('button', { class: 'link', onclick: () => select(p, -2, at) }, at + ' ', named(positionName(p, at)));
const tensorButton = (p, t) => element('button', { class: 'link', onclick: () => { select(p, t, -2); lookAtTensor(); } }, named(p.graph.tensors[t].name));
function table(head, rows) {
  const most = rows.slice(0, LINES);
  return [element('table', {}, element('thead', {}, element('tr', {}, ...head.map(h => element('th', { scope: 'col' }, h)))),
    element('tbody', {}, ...most.map(r => element('tr', {}, ...r.map(c => element('td', {}, ...[c].flat())))))),
    rows.length > LINES ? element('p', {}, '\u2026 and ' + (rows.length - LINES) + ' more') : null];
}
function panel(id, title, ...inside) {
  const heading = element('h3', {}, ...title), old = document.getElementById(id);
  const close = element('button', { class: 'close', 'aria-label': 'close', onclick: () => closePanel(id) }, '\u00d7');
  const made = element('section', { id, 'aria-label': heading.textContent }, close, heading, ...inside.flat());
  if (old) old.replaceWith(made);
  else drawer.append(made);
  root.classList.add('drawn-up');
}
function removePanel(id) {
  const old = document.getElementById(id);
  if (old) old.remove();
  root.classList.toggle('drawn-up', drawer.childElementCount > 0);
}
function closePanel(id) {
  if (id === 'step-panel') select(selected.plan, -2, -1);
  else if (id === 'tensor-panel') select(selected.plan, -1, -2);
  else if (id === 'moved-panel') changes();
  else removePanel(id);
}
/* Where bytes of a tensor lie at a position. */
function addressAt(p, t, at) {
  const places = p.placesOf[base(p.graph, t)].map(i => p.places[i]).filter(x => x.from <= at && at <= x.to);
  if (!places.length) return p.graph.tensors[base(p.graph, t)].flags & 2 ? 'bound at run time' : 'not in the arena';
  return places.slice(0, 4).map(x => x.first + ' to ' + (x.first + x.length)).join(', ') + (places.length > 4 ? ', \u2026' : '');
}
const usesIn = (p, block, t) => p.usesOf[t].filter(u => p.blocks[block].first <= u.at && u.at < p.blocks[block].end);
/* Along the edges out of a block, which tensors have then, in which blocks, the value that this one has at its end. */
function handedOn(p, block, t) {
  const to = [];
  for (const e of p.edges.filter(e => e.from === block)) {
    let kept = true;
    for (let i = 0; i < e.carries.length; i += 2) {
      if (e.carries[i] === t) to.push([e.to, e.carries[i + 1]]);
      if (e.carries[i + 1] === t) kept = false;
    }
    if (kept) to.push([e.to, t]);
  }
  return to;
}
/* Along the edges into a block, which tensors had then, at the end of which blocks, the value that this one begins with. */
function handedBy(p, block, t) {
  return p.edges.filter(e => e.to === block).map(e => {
    for (let i = 0; i < e.carries.length; i += 2) if (e.carries[i + 1] === t) return [e.from, e.carries[i]];
    return [e.from, t];
  });
}
/* Positions that made the value that a tensor has at one, whichever way was taken to its block. */
function makers(p, at, t) {
  const found = [], seen = new Set(), block = p.blocks.findIndex(b => b.first <= at && at < b.end), stack = [[block, t, at]];
  while (stack.length) {
    const [b, of, before] = stack.pop(), made = usesIn(p, b, of).filter(u => u.at < before && u.writes);
    if (made.length) { found.push(made[made.length - 1].at); continue; }
    for (const [from, was] of handedBy(p, b, of)) {
      if (seen.has(from + ' ' + was)) continue;
      seen.add(from + ' ' + was);
      stack.push([from, was, Infinity]);
    }
  }
  return found;
}
/* Positions that use that value later, whichever way is taken from there. */
function users(p, at, t) {
  const found = [], seen = new Set(), block = p.blocks.findIndex(b => b.first <= at && at < b.end), stack = [[block, t, at]];
  while (stack.length) {
    const [b, of, after] = stack.pop();
    for (const u of usesIn(p, b, of)) if (u.at > after && u.word !== 'writes') found.push(u.at);
    for (const [to, is] of handedOn(p, b, of)) {
      if (seen.has(to + ' ' + is)) continue;
      seen.add(to + ' ' + is);
      /* A block reads nothing that it writes later: there the value ends. */
      if (!usesIn(p, to, is).some(u => u.word === 'writes')) stack.push([to, is, -1]);
    }
  }
  return found;
}
/* Steps around it: those that made what it reads, and those that read what it makes. */
function neighbours(p, at) {
  const g = p.graph, of = p.positions[at], before = new Set(), after = new Set();
  const accesses = of.kind ? [] : g.steps[of.index].accesses;
  const touched = of.kind ? [of.index] : accesses.map(a => base(g, a.tensor));
  touched.forEach((t, i) => {
    const mode = of.kind ? 3 : accesses[i].mode;
    if (mode & 1) for (const s of makers(p, at, t)) before.add(s);
    if (mode & 2) for (const s of users(p, at, t)) after.add(s);
  });
  const boxes = (title, steps) => element('div', { class: 'steps' }, element('b', {}, title),
    ...[...steps].sort((a, b) => a - b).slice(0, 12).map(s => stepButton(p, s)),
    steps.size > 12 ? element('span', {}, '\u2026 and ' + (steps.size - 12) + ' more') : null,
    steps.size ? null : element('span', {}, 'none'));
  return element('div', { class: 'around' }, boxes('made before by', before), element('div', { class: 'here' }, '\u2192 ', named(positionName(p, at)), ' \u2192'),
    boxes('used after by', after));
}
function stepPanel() {
  const p = selected.plan, at = selected.step;
  document.getElementById('step').value = at < 0 ? '' : at;
  if (at < 0) { removePanel('step-panel'); return; }
  const of = p.positions[at], g = p.graph, step = of.kind ? null : g.steps[of.index], op = step && step.op >= 0 ? g.ops[step.op] : null;
  const facts = [];
  if (op) facts.push(['operator', [op.type, ' ', named(op.name)]], ['attributes', op.attributes.join(', ') || 'none']);
  if (step && step.flags & 1) facts.push(['order', 'reads all before it writes']);
  if (of.kind) facts.push(['tensor', tensorButton(p, of.index)], [p.moves[at] ? 'moves' : 'gives up', exact(of.moved)]);
  facts.push(['bytes live', exact(p.data.live[2 * at]) + ' while it reads, ' + exact(p.data.live[2 * at + 1]) + ' while it writes']);
  for (const other of shown()) {
    const same = samePosition(p, at, other);
    if (other !== p) facts.push(['in the other plan', same < 0 ? 'there is none' : stepButton(other, same)]);
  }
  const reads = step ? step.accesses.map((a, i) => [MODES[a.mode] + ((p.inPlace.get(at) || []).includes(i) ? ', in place' : ''), tensorButton(p, a.tensor), exact(a.bytes),
    a.bytes === g.tensors[a.tensor].size ? 'all' : 'from its byte ' + a.first, addressAt(p, a.tensor, at)]) : [];
  const there = p.places.filter(x => x.from <= at && at <= x.to).sort((a, b) => a.first - b.first);
  panel('step-panel', ['step ' + at + ': ', named(positionName(p, at))],
    element('p', {}, element('button', { onclick: () => stepBy(-1) }, 'previous'), ' ', element('button', { onclick: () => stepBy(1) }, 'next')),
    facts.map(([name, value]) => element('p', { class: 'fact' }, element('b', {}, name), ' ', ...[value].flat())),
    reads.length ? table(['access', 'tensor', 'bytes', 'of it', 'in the arena'], reads) : [], neighbours(p, at),
    element('details', {}, element('summary', {}, count(there.length, 'place') + ' in the arena then'),
      ...table(['from', 'to', 'tensor'], there.map(x => [x.first, x.first + x.length, tensorButton(p, x.tensor)])).filter(x => x !== null)));
}
function tensorPanel() {
  const p = selected.plan, t = selected.tensor;
  if (t < 0) { removePanel('tensor-panel'); return; }
  const tensor = p.graph.tensors[t], of = base(p.graph, t), uses = p.usesOf[of];
  const inside = [element('p', { class: 'fact' }, element('b', {}, tensor.kind), ' ', tensor.shape, tensor.shape ? ', ' : '', exact(tensor.size))];
  if (of !== t) inside.push(element('p', { class: 'fact' }, element('b', {}, 'has bytes of'), ' ', tensorButton(p, of), ' from byte ' + tensor.first + ' on'));
  for (const other of shown()) {
    const same = sameTensor(p, of, other), places = same < 0 ? [] : other.placesOf[same].map(i => other.places[i]);
    inside.push(element('p', { class: 'fact' }, element('b', {}, shown().length > 1 ? [...other.section.querySelector('h2').childNodes].map(n => n.textContent).join('') : 'in the arena'),
      places.length ? '' : same >= 0 && other.graph.tensors[same].flags & 2 ? ' bound at run time' : ' nowhere'));
    if (places.length) inside.push(...table(['from', 'to', 'from step', 'to step'], places.map(x => [x.first, x.first + x.length, stepButton(other, x.from), stepButton(other, x.to)])));
  }
  inside.push(...table(['what is done with it', 'step'], uses.map(u => [u.word, stepButton(p, u.at)])));
  panel('tensor-panel', ['tensor ', named(tensor.name)], inside.filter(x => x !== null));
}

/* ------------------------------------------------------------------------- selecting */

/* Of a plan a tensor and a step; -1: none, -2: as before. */
function select(p, tensor, step) {
  selected.tensor = tensor === -2 ? sameTensor(selected.plan, selected.tensor, p) : tensor;
  selected.step = step === -2 ? samePosition(selected.plan, selected.step, p) : step;
  selected.plan = p;
  for (const other of plans) {
    const same = sameTensor(p, selected.tensor < 0 ? -1 : base(p.graph, selected.tensor), other);
    for (const t of other.svg.querySelectorAll('.tensor.chosen')) t.classList.remove('chosen');
    other.chosen = same < 0 ? [] : other.placesOf[same];
    for (const i of other.chosen) other.tensors[i].classList.add('chosen');
    other.at = samePosition(p, selected.step, other);
    mark(other);
  }
  stepPanel();
  tensorPanel();
}
function lookAtTensor() { for (const p of shown()) look(p, p.chosen); }
/* A selected step that is out of view comes into its middle. */
function stepBy(by) {
  const p = selected.plan, at = selected.step < 0 ? (by > 0 ? 0 : p.steps - 1) : selected.step + by;
  if (at >= 0 && at < p.steps) goToStep(p, at);
}
function goToStep(p, at) {
  select(p, -2, at);
  for (const other of shown()) {
    const x = X + (other.at + 0.5) / other.steps * W;
    if (other.at < 0 || (x > other.view[0] && x < other.view[0] + other.view[2])) continue;
    other.view[0] = x - other.view[2] / 2;
    show(other);
  }
}

/* --------------------------------------------------------------------------- finding */

/* Tensors, then steps, whose names have the text in them. */
function find(text) {
  const p = selected.plan, g = p.graph, low = text.toLowerCase();
  const found = { tensors: [], steps: [] };
  if (!low) return found;
  g.tensors.forEach((t, i) => { if (t.name.toLowerCase().includes(low)) found.tensors.push(i); });
  p.positions.forEach((of, at) => { if (positionName(p, at).toLowerCase().includes(low)) found.steps.push(at); });
  /* Those of which it is the whole name first. */
  found.tensors.sort((a, b) => (g.tensors[b].name === text) - (g.tensors[a].name === text));
  return found;
}
function findPanel(text) {
  const p = selected.plan, g = p.graph;
  if (!text) { removePanel('find-panel'); return; }
  const found = find(text);
  panel('find-panel', ['found: ' + count(found.tensors.length, 'tensor') + ', ' + count(found.steps.length, 'step')],
    found.tensors.length ? table(['tensor', 'kind', 'bytes'], found.tensors.map(t => [tensorButton(p, t), g.tensors[t].kind, exact(g.tensors[t].size)])) : [],
    found.steps.length ? table(['step'], found.steps.map(at => [element('button', { class: 'link', onclick: () => goToStep(p, at) }, at + ' ', named(positionName(p, at)))])) : []);
}
function takeFirst(text) {
  const found = find(text), p = selected.plan;
  if (found.tensors.length) { select(p, found.tensors[0], -2); lookAtTensor(); }
  else if (found.steps.length) goToStep(p, found.steps[0]);
}
