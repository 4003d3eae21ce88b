import { spawn } from 'node:child_process';
import { once } from 'node:events';

/** Aborts running commands when this check is interrupted. */
export const interruption = new AbortController();

const OPTIONS = { stdio: ['ignore', 'pipe', 'pipe'], timeout: 600_000, signal: interruption.signal };

/** Resolves with a program's output. Throws with its last `lines` when the program fails. */
export async function run(program, args, { lines, ...options } = {}) {
  const child = spawn(program, args, { ...OPTIONS, ...options });
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr']) child[name].setEncoding('utf8').on('data', (text) => (texts[name] += text));
  const ended = once(child, 'close').catch((error) => Promise.reject(new Error(`${program}: ${error.message}`)));
  const [code, signal] = await ended;
  if (code === 0) return texts.stdout.trim();
  throw new Error(`${program} ended with ${signal ?? code}:\n${tail(texts.stdout + texts.stderr, lines)}`);
}

/** The last lines of a text. */
export function tail(text, count = 30) {
  return text.trimEnd().split('\n').slice(-count).join('\n');
}
