import sonicBoom from 'sonic-boom';

/** Lines wait here while they can't be written; beyond this, they are dropped. */
const WAITING_BYTES = 4_194_304;

/**
 * Standard output, written in the background. A full disk costs log lines, and nothing else: with pino's own
 * destination, the error would end the process, which would then try forever to write its last lines.
 */
export function standardOutput(): sonicBoom.SonicBoom {
  // With no minimum, `flush` does nothing.
  const output = new sonicBoom.SonicBoom({ fd: 1, sync: false, minLength: 1, maxLength: WAITING_BYTES });
  let isFailing = false;
  // A line that is dropped does not try to write what waits, so without this, a full buffer would stay full.
  output.on('drop', () => output.flush());
  output.on('error', () => {
    isFailing = true;
  });
  output.on('drain', () => {
    isFailing = false;
  });
  process.once('exit', () => {
    if (!isFailing) output.flushSync();
  });
  return output;
}
