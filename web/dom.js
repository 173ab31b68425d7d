/*
 * What is shown, as data, and making the document so. h() describes an element; patch() compares
 * what an element has with what it should have and changes the difference, so that focus, scrolling
 * and what people type stay. All text becomes text nodes: nothing that comes from others is ever
 * read as HTML.
 */
const SVG = 'http://www.w3.org/2000/svg';
/* Set as properties, since the attribute of the same name is only what they begin with. */
const PROPERTIES = new Set(['value', 'checked', 'disabled', 'hidden', 'open', 'selected', 'indeterminate']);

export function h(tag, props, ...children) {
  return { tag, props: props ?? {}, children: children.flat(Infinity).filter(child => child != null && child !== false && child !== true && child !== '') };
}

export const icon = name => h('svg', { class: 'i', 'aria-hidden': 'true' }, h('use', { href: `#i-${name}` }));
export const glyph = state => h('svg', { class: `s ${state}`, 'aria-hidden': 'true' }, h('use', { href: `#s-${state}` }));

function setVars(element, vars, before) {
  for (const name of Object.keys(before ?? {})) if (!vars || !(name in vars)) element.style.removeProperty(name);
  for (const [name, value] of Object.entries(vars ?? {})) if (before?.[name] !== value) element.style.setProperty(name, String(value));
}

function setProp(element, name, value, before) {
  if (value === before || name === 'key' || name === 'ref' || name === 'own') return;
  if (name === 'vars') setVars(element, value, before);
  else if (name.startsWith('on')) element[name] = value ?? null;
  else if (PROPERTIES.has(name)) { if (element[name] !== value) element[name] = value ?? (name === 'value' ? '' : false); }
  else if (value == null || value === false) element.removeAttribute(name);
  else element.setAttribute(name, value === true ? '' : String(value));
}

function setProps(element, props) {
  const before = element.$props ?? {};
  for (const name of Object.keys(before)) if (!(name in props)) setProp(element, name, undefined, before[name]);
  for (const name of Object.keys(props)) setProp(element, name, props[name], before[name]);
  element.$props = props;
  /* its options may have changed under what is chosen */
  if (element.$tag === 'select' && props.value != null && element.value !== String(props.value)) element.value = props.value;
}

function make(node, svg) {
  if (typeof node !== 'object') return document.createTextNode(String(node));
  const inSvg = svg || node.tag === 'svg';
  const element = inSvg ? document.createElementNS(SVG, node.tag) : document.createElement(node.tag);
  element.$node = node;
  element.$tag = node.tag;
  element.$key = node.props.key;
  if (!node.props.own) fill(element, node.children, inSvg);
  setProps(element, node.props); /* behind the children: a select has its options before its value */
  node.props.ref?.(element);
  return element;
}

/* Can this node become that? */
function fits(there, node) {
  if (!there) return false;
  if (typeof node !== 'object') return there.nodeType === Node.TEXT_NODE;
  return there.$tag === node.tag && there.$key === node.props.key;
}

function update(there, node, svg) {
  if (typeof node !== 'object') {
    const text = String(node);
    if (there.data !== text) there.data = text;
    return;
  }
  if (there.$node === node) return; /* kept by who drew it: nothing in it is different */
  there.$node = node;
  if (!node.props.own) fill(there, node.children, svg || node.tag === 'svg');
  setProps(there, node.props);
}

function fill(parent, list, svg) {
  const keyed = new Map(), wanted = new Set();
  for (const node of list) if (typeof node === 'object' && node.props.key != null) wanted.add(node.props.key);
  /* what goes, goes first: else all that stands behind it would be moved */
  for (const there of [...parent.childNodes]) if (there.$key != null) { if (wanted.has(there.$key)) keyed.set(there.$key, there); else there.remove(); }
  let at = parent.firstChild;
  for (const node of list) {
    const key = typeof node === 'object' ? node.props.key : undefined;
    let there = key != null ? keyed.get(key) : at;
    if (key == null) while (there?.$key != null) there = there.nextSibling;
    if (!fits(there, node)) there = null;
    if (there) update(there, node, svg); else there = make(node, svg);
    if (there === at) at = at.nextSibling; else parent.insertBefore(there, at);
  }
  while (at) { const next = at.nextSibling; at.remove(); at = next; }
}

export function patch(parent, ...list) { fill(parent, list.flat(Infinity).filter(node => node != null && node !== false && node !== ''), false); }
