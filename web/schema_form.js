/* Fields of a form from the schema of a request's body: what the service's own table says of each, its help, its bounds, its choices. */
import { h } from './dom.js';
import { field } from './parts.js';

let document_ = null;
export async function schemaOf(path, method) {
  document_ = document_ ?? await (await fetch('/openapi.json')).json();
  const body = document_.paths[path][method].requestBody.content['application/json'].schema;
  return document_.components.schemas[body.$ref.split('/').at(-1)];
}

const title = name => name.replaceAll('_', ' ').replace(/\b(gpu|cpu|qos)(s?)\b/g, (_, word, s) => word.toUpperCase() + s).replace(/^./, c => c.toUpperCase());
const typeOf = property => [property.type].flat();

/* A value as the API takes it; undefined: left out. */
function read(property, text) {
  if (text === '') return undefined;
  const types = typeOf(property);
  if (types.includes('string')) return text;
  if (types.includes('integer') || types.includes('number')) return Number(text);
  if (types.includes('array')) return text.split(',').map(word => word.trim()).filter(Boolean);
  return text;
}

/* One field; `values` holds what was chosen, `set(name, value)` is told. Maps and the like have none here. */
export function schemaField(name, property, values, errors, set) {
  const help = property.description ? property.description[0].toUpperCase() + property.description.slice(1) : '', id = `f-${name}`, error = errors[name], value = values[name];
  const common = { id, 'aria-invalid': error ? 'true' : null };
  if (property.type === 'boolean') return h('label', { class: 'check', key: name, title: help }, h('input', { type: 'checkbox', id, checked: value ?? property.default ?? false, onchange: event => set(name, event.target.checked) }), title(name), h('span', { class: 'dim' }, help));
  if (property.enum) return h('div', { key: name }, field(title(name), h('select', { class: 'in', ...common, value: value ?? property.default ?? '', onchange: event => set(name, event.target.value) }, property.enum.map(choice => h('option', { value: choice }, choice))), { error, help }));
  if (typeOf(property).includes('object')) return null;
  return h('div', { key: name }, field(title(name), h('input', { class: 'in', ...common, autocomplete: 'off', spellcheck: 'false', placeholder: property.default != null && property.default !== '' && !Array.isArray(property.default) ? String(property.default) : '', value: value == null ? '' : String(value), oninput: event => set(name, read(property, event.target.value)) }), { error, help }));
}
