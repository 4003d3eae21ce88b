import { readFileSync } from 'node:fs';

/** The steps of an upgrade in their order, as deploy/upgrade.sh lists them: what it does, documents, and tests repeat. */
export const UPGRADE_STEPS: readonly string[] = [
  ...readFileSync('deploy/upgrade.sh', 'utf8').matchAll(/^# {3}\d ([a-z-]+) /gm),
].map(([, step = '']) => step);
