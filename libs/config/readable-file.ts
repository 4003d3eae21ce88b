import { readFileSync } from 'node:fs';
import { ValidateBy } from 'class-validator';

/** Names a file that can be read at start. */
export function ReadableFile(): PropertyDecorator {
  return ValidateBy({
    name: 'readableFile',
    validator: {
      validate: (path: unknown) => typeof path === 'string' && canRead(path),
      defaultMessage: () => '$property must name a file that can be read',
    },
  });
}

function canRead(path: string): boolean {
  try {
    readFileSync(path);
    return true;
  } catch {
    return false;
  }
}
