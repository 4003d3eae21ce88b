import { readFileSync } from 'node:fs';
import { VERSION } from './package.js';

describe('the version', () => {
  it('is that of package.json', () => {
    expect(JSON.parse(readFileSync('package.json', 'utf8'))).toMatchObject({ version: VERSION });
  });
});
