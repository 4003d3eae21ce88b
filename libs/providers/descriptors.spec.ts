import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { DESCRIPTORS } from './descriptors.js';

describe('descriptors of providers', () => {
  it.each(Object.entries(DESCRIPTORS))('%s loads its adapter', async (_type, { load }) => {
    expect(await load()).toBeInstanceOf(Function);
  });

  it('name an address where the entry need not', () => {
    const homeless = Object.entries(DESCRIPTORS).filter(
      ([type, { baseUrl, needs }]) => type !== 'sandbox' && baseUrl === undefined && !needs.includes('base_url'),
    );
    expect(homeless).toEqual([]);
  });

  it('are all listed: every folder that has one, once', async () => {
    const folders = readdirSync(import.meta.dirname, { withFileTypes: true })
      .map(({ name }) => join(import.meta.dirname, name, 'descriptor.ts'))
      .filter((file) => existsSync(file));
    const described = await Promise.all(
      folders.map(async (file) => {
        const exported = (await import(file)) as Record<string, object>;
        return Object.values(exported).flatMap((types) => Object.keys(types));
      }),
    );
    expect(described.flat().sort()).toEqual(Object.keys(DESCRIPTORS).sort());
  });
});
