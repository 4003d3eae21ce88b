// npm run bench [-- name ...] [--quick] [--record] [--profile]
import { prepare, releaseSignals } from '../build/prepare.mjs';

await prepare({ tell: (line) => process.stderr.write(`${line}\n`), tools: true });
releaseSignals();
await import('../../bench/main.mjs');
