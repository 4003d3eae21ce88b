// npm run bench [-- name ...] [--quick] [--record] [--profile]
import { prepare } from './prepare.mjs';

await prepare((line) => process.stderr.write(`${line}\n`));
await import('../bench/main.mjs');
