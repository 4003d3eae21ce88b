import { readFileSync } from 'node:fs';

/** The steps of an upgrade in order, as listed in deploy/upgrade.sh: the script, the docs and tests all repeat them. */
export const UPGRADE_STEPS: readonly string[] = [
  ...readFileSync('deploy/upgrade.sh', 'utf8').matchAll(/^# {3}\d ([a-z-]+) /gm),
].map(([, step = '']) => step);
