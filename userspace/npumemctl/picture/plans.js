/* SPDX-License-Identifier: MIT */
/* The table of all plans: which of them is drawn, and which beside it. */
const choices = [...document.querySelectorAll('#plans input')];

/* Plans of these numbers are drawn; the same one twice: that one alone. */
function draw(left, right) {
  plans.forEach((p, i) => {
    p.section.hidden = i !== left && i !== right;
    p.side = i === left ? 0 : 1;
    p.section.style.order = p.side;
  });
  for (const c of choices) {
    c.checked = Number(c.value) === (c.name === 'left' ? left : right);
    c.closest('tr').classList.toggle('drawn', Number(c.value) === left || Number(c.value) === right);
  }
  document.getElementById('changes').hidden = shown().length < 2;
  shown().forEach(show);
  select(selected.plan.section.hidden ? plans[left] : selected.plan, -2, -2);
  stepBox.max = selected.plan.steps - 1;
  findPanel(findBox.value);
  movedPanel();
}
const chosen = side => Number(choices.find(c => c.name === side && c.checked).value);
for (const c of choices) c.addEventListener('change', () => draw(chosen('left'), chosen('right')));
