import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PACKAGE_ROOT } from '#config/package.js';

/** Lets the young generation of its process grow, and then waits until most of it is given back. */
const PROGRAM = `
  import { getHeapSpaceStatistics } from 'node:v8';
  const { releaseIdleMemory } = await import(process.argv[1]);
  const young = () => getHeapSpaceStatistics().find((space) => space.space_name === 'new_space').space_size;
  let kept = Array.from({ length: 1_000_000 }, (_, at) => ({ at }));
  const grown = young();
  releaseIdleMemory(100);
  const polling = setInterval(() => {
    if (young() > grown / 4) return;
    clearInterval(polling);
    console.log(JSON.stringify({ kept: kept.length, grown }));
  }, 50);
`;

describe('an idle process', () => {
  it('gives back what its young generation has grown to', async () => {
    const file = join(PACKAGE_ROOT, 'dist', 'libs', 'telemetry', 'idle-memory.js');
    const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', PROGRAM, file]);
    const { kept, grown } = JSON.parse(stdout) as { kept: number; grown: number };
    expect(kept).toBe(1_000_000);
    expect(grown).toBeGreaterThan(8_388_607);
  });
});
