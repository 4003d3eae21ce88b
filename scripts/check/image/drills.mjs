import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from '../../build/prepare.mjs';
import { hardeningFlags } from './compose-service.mjs';
import { run } from './run.mjs';

/** Of test/balancer; with `all`, every file there. */
const DRILLS = ['killed-api', 'service-drills'];

/**
 * Runs the balancer's tests with containers in place of this folder's build (test/support/container.ts). Returns how
 * many passed. Throws with the end of jest's output when one fails.
 */
export async function runDrills(engine, services, image, folder, { all }) {
  // Shared with the containers, which have their own /tmp otherwise.
  const shared = join(folder, 'drills');
  mkdirSync(shared);
  const file = join(shared, 'run.json');
  const started = join(shared, 'started');
  const roles = Object.fromEntries(['api', 'worker'].map((role) => [role, { flags: flagsOf(role), image }]));
  writeFileSync(file, JSON.stringify({ env: engine.options.env, started, roles }));
  const output = await run(process.execPath, [join(ROOT, 'scripts', 'run', 'test.mjs'), ...jestArguments(all)], {
    env: { ...process.env, TEST_IMAGE_RUN: file, TMPDIR: shared },
    // What failed stands before the summary.
    lines: 300,
  });
  const [, passed] = /^(\d+) passed, 0 failed$/m.exec(output) ?? [];
  if (!(Number(passed) > 0)) throw new Error(`no drill ran:\n${output}`);
  return `${passed} passed, with ${readFileSync(started, 'utf8').trim().split('\n').length} containers`;

  /** As in compose, but the process is the first of its container, as on Kubernetes, and owns the tests' folders. */
  function flagsOf(role) {
    const own = hardeningFlags(services[role]).filter((flag) => flag !== '--init' && !flag.startsWith('--user='));
    const user = `--user=${process.getuid()}:${process.getgid()}`;
    const place = ['--network=host', `--cgroup-parent=/${engine.cgroup}`, `--volume=${shared}:${shared}`];
    return [...engine.stores, 'run', '--rm', ...place, ...own, user];
  }
}

function jestArguments(all) {
  return ['--selectProjects', 'balancer', '--maxWorkers=2', ...(all ? [] : ['--testPathPatterns', ...DRILLS])];
}
