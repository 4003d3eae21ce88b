// npm run build; --tools also builds what editors, tests and checks need.
import { prepare } from './prepare.mjs';

await prepare({ tools: process.argv.includes('--tools') });
