import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { json, text } from 'node:stream/consumers';

const tools = createRequire(join(process.cwd(), 'tools', 'package.json'));
const program = tools.resolve('exiftool-vendored.pl/bin/exiftool');

const hasPerl = spawnSync('perl', ['-v']).status === 0;
if (!hasPerl) process.stdout.write('No perl was found: tests that read metadata with ExifTool are left out.\n');

/** `it` for tests that call readMetadata. */
export const itWithExifTool = hasPerl ? it : it.skip;

/** The metadata that ExifTool reads from a file, by group and name, for example `XMP-dc:Identifier`. Needs Perl. */
export async function readMetadata(image: Buffer): Promise<Record<string, unknown>> {
  const child = spawn('perl', [program, '-json', '-G1', '-a', '-'], { stdio: ['pipe', 'pipe', 'pipe'] });
  const ended = once(child, 'close');
  child.stdin.end(image);
  const [found, problems] = await Promise.all([json(child.stdout), text(child.stderr), ended]);
  if (!Array.isArray(found)) throw new Error(`ExifTool read nothing: ${problems}`);
  return found[0] as Record<string, unknown>;
}
