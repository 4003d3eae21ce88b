// What the floors do with a file, as directly as Node can.
import { createHash } from 'node:crypto';
import { open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);

/** The SHA-256 of a PNG. Throws unless its chunks reach from the signature to the end, each with the right checksum. */
export function checkedDigest(png) {
  if (!png.subarray(0, SIGNATURE.length).equals(SIGNATURE)) throw new Error('no PNG');
  let at = SIGNATURE.length;
  let name;
  while (at < png.length) {
    const end = at + 8 + png.readUInt32BE(at);
    name = png.toString('latin1', at + 4, at + 8);
    if (crc32(png.subarray(at + 4, end)) !== png.readUInt32BE(end)) throw new Error(`${name} is damaged`);
    at = end + 4;
  }
  if (name !== 'IEND' || at !== png.length) throw new Error('cut off');
  return createHash('sha256').update(png).digest('hex');
}

/** Written, flushed, renamed, and the rename flushed: after a power cut, the file exists completely or not at all. */
export async function storeDurably(folder, name, bytes) {
  const file = await open(join(folder, `.${name}`), 'wx', 0o600);
  await file.writeFile(bytes);
  await file.sync();
  await file.close();
  await rename(join(folder, `.${name}`), join(folder, name));
  const directory = await open(folder);
  await directory.sync();
  await directory.close();
}
