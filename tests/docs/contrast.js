// Text with a contrast below 4.5:1, as far as it is shown.
const parse = t => { const m = t.match(/[\d.]+/g).map(Number); return m.length < 4 ? [...m, 1] : m; };
const lum = c => { const [r, g, b] = c.slice(0, 3).map(v => { v /= 255; return v <= .03928 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4; });
  return .2126 * r + .7152 * g + .0722 * b; };
const ground = e => { for (; e; e = e.parentElement) { const c = parse(getComputedStyle(e).backgroundColor); if (c[3] > .99) return c; } return [255, 255, 255]; };
const bad = [];
for (const e of document.querySelectorAll('.pf p, .pf td, .pf th, .pf a, .pf h2, .pf h3, .pf .pf-chip, .pf button, .pf dt, .pf dd, .pf text')) {
  if (!e.textContent.trim() || !e.getClientRects().length) continue;
  const style = getComputedStyle(e), ink = parse(e.tagName === 'text' ? style.fill : style.color);
  const [x, y] = [lum(ink), lum(ground(e.closest('svg') || e))].sort((p, q) => q - p);
  if ((x + .05) / (y + .05) < 4.5) bad.push([e.tagName, e.className.baseVal ?? e.className, e.textContent.slice(0, 40), ((x + .05) / (y + .05)).toFixed(2)]);
}
return bad.slice(0, 5);
