// npm run bench [-- name ...] [--quick] [--record] [--profile]
import { prepare, releaseSignals } from './prepare.mjs';

await prepare((line) => process.stderr.write(`${line}\n`));
releaseSignals();
await import('../bench/main.mjs');
