import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { podsOf } from './chart-pods.mjs';
import { renderChart } from './helm.mjs';

/** The parts of the values that have pods; of `migrate`, those of Jobs and of the test. */
const COMPONENTS = ['api', 'worker', 'migrate'];
/** Named twice, but of processes and not of pods: migrate has those of all. */
const NO_POD_VALUES = new Set(['settings']);
const BASE = { publicUrl: 'https://images.example.org', storage: { createBucket: true } };

/**
 * Values of pods that don't reach every pod they are for; one sentence each. Which values those are is what the schema
 * has both for all pods and for some.
 */
export function reachProblems(chart) {
  const schema = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
  const definition = (part) => (part.$ref === undefined ? part : schema.$defs[part.$ref.split('/').at(-1)]);
  const ofComponent = (component) => schema.properties[component].properties;
  const names = Object.keys(schema.properties).filter(
    (name) => !NO_POD_VALUES.has(name) && COMPONENTS.some((component) => name in ofComponent(component)),
  );
  const missing = COMPONENTS.flatMap((component) =>
    names
      .filter((name) => !(name in ofComponent(component)))
      .map((name) => `${component}.${name}: only others have it`),
  );
  if (names.length === 0) return ['no value is for every pod'];
  if (missing.length > 0) return missing;

  const sampled = (mark) =>
    Object.fromEntries(names.map((name) => [name, sampleOf(definition(schema.properties[name]), `${name}-${mark}`)]));
  const folder = mkdtempSync(join(tmpdir(), 'chart-reach-'));
  const podsWith = (values) => {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify({ ...BASE, ...values }));
    const { documents, problem } = renderChart(chart, [file]);
    if (problem !== undefined) throw new Error(problem);
    return podsOf(documents).map(({ owner, metadata, spec }) => ({
      component: componentOf(metadata),
      name: `${owner.kind} ${owner.metadata.name}`,
      text: JSON.stringify({ metadata, spec }),
    }));
  };
  try {
    const every = podsWith(sampled('all'));
    const problems = every.flatMap(({ name: pod, text }) =>
      names.filter((name) => !text.includes(`${name}-all`)).map((name) => `${pod}: ${name} does not reach it`),
    );
    for (const component of COMPONENTS) {
      for (const { component: own, name: pod, text } of podsWith({ [component]: sampled(component) })) {
        for (const name of names) {
          if (text.includes(`${name}-${component}`) === (own === component)) continue;
          problems.push(`${pod}: ${component}.${name} ${own === component ? 'does not reach it' : 'is not for it'}`);
        }
      }
    }
    return problems;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The part of the values that a pod is configured by. */
function componentOf({ labels }) {
  const component = labels['app.kubernetes.io/component'];
  return COMPONENTS.includes(component) ? component : 'migrate';
}

/** A value that the schema accepts, with a mark that is found in whatever it becomes part of. */
function sampleOf({ type, items, additionalProperties }, mark) {
  if (type === 'string') return mark;
  if (type === 'object') return { [mark]: additionalProperties?.type === 'string' ? mark : { mark } };
  return [Object.fromEntries([...(items.required ?? []), 'mark'].map((name) => [name, mark]))];
}
