import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';

/**
 * The folder of our package.json: beside it stand `dist` and `prisma`, wherever in `dist` the running code lies.
 * Throws when there is none above it.
 */
export const PACKAGE_ROOT = findPackageRoot(import.meta.dirname);

function findPackageRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    if (existsSync(join(folder, 'package.json'))) return folder;
    if (folder === dirname(folder)) throw new Error(`No package.json was found above ${from}.`);
  }
}

/** The version of the product, as package.json has it. */
export const VERSION = '1.0.0';
