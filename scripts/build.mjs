// npm run build; with --tools also what only editors, tests and checks read.
import { prepare } from './prepare.mjs';

await prepare({ tools: process.argv.includes('--tools') });
