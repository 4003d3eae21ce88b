import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';

/** A process that hears stop signals, and does `then` with what it hands them on by. */
async function stopWhileItStarts(then: string): Promise<{ code: number | null; output: string }> {
  const program = `import { deferStopSignals } from ${JSON.stringify(resolve('dist/libs/config/stop-signals.js'))};
    const forwardStopSignal = deferStopSignals();
    console.log('starting');
    process.stdin.once('data', () => { ${then} });
    process.stdin.resume();`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  let output = '';
  child.stdout.on('data', (text: Buffer) => (output += text.toString()));
  await once(child.stdout, 'data');
  child.kill('SIGTERM');
  child.stdin.write('go on\n');
  const [code] = (await ended) as [number | null];
  return { code, output };
}

describe('a process that is told to stop while it starts', () => {
  it('stops by its hooks once they are in place', async () => {
    const hooks = `process.once('SIGTERM', () => { console.log('by its hooks'); process.exit(0); }); forwardStopSignal();`;
    expect(await stopWhileItStarts(hooks)).toEqual({ code: 0, output: 'starting\nby its hooks\n' });
  });

  it('ends although it never gets there', async () => {
    expect(await stopWhileItStarts('')).toEqual({ code: 0, output: 'starting\n' });
  });
});
