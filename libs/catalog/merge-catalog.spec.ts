import { DESCRIPTORS } from '#providers/descriptors.js';
import type { Catalog } from './catalog.js';
import type { ConsoleEntries, KeySource } from './catalog-schema.js';
import { mergeCatalog, type MergedCatalog, type BaseEntries } from './merge-catalog.js';
import { parseEntries, problemText } from './parse-catalog.js';
import { toCatalog } from './to-catalog.js';

const FILE = `
providers:
  house: { type: sandbox }
models:
  poster: { kind: image, aliases: [photo], routes: [{ provider: house }] }
`;
const own = (owner: BaseEntries['owner'] = 'file'): BaseEntries => ({
  owner,
  file: parseEntries(FILE, 'models.yaml', undefined),
});
const secretOf = (key: KeySource): string | undefined =>
  'sealed' in key && key.sealed === 'pkey_1' ? 'secret' : undefined;

function merged(added: Partial<ConsoleEntries>, owner?: BaseEntries['owner'], bad: string[] = []): MergedCatalog {
  const entries = { providers: {}, models: {}, ...added };
  const adapterProblems = ({ providers }: Catalog) =>
    bad.filter((name) => providers.has(name)).map((name) => ({ path: ['providers', name], text: 'is bad' }));
  const make = (file: BaseEntries['file']): Catalog => toCatalog(file, {}, secretOf);
  return mergeCatalog(own(owner), entries, { secretOf, make, adapterProblems });
}
const names = ({ catalog }: MergedCatalog) => [[...catalog.providers.keys()], [...catalog.models.keys()]];
const problems = ({ skipped: skipped }: MergedCatalog) => skipped.map(problemText);

const main = { type: 'openai', keys: [{ name: 'team', sealed: 'pkey_1' }] };

describe('the catalog of a file and the console', () => {
  it('has what the console adds beside the file, with its keys', () => {
    const both = merged({
      providers: { main },
      models: { drawn: { kind: 'image', routes: [{ provider: 'main' }, { provider: 'house' }] } },
    });
    expect(names(both)).toEqual([
      ['house', 'main'],
      ['poster', 'drawn'],
    ]);
    expect(both.catalog.providers.get('main')?.servers[0]?.keys).toEqual([{ name: 'team', secret: 'secret' }]);
    expect(problems(both)).toEqual([]);
  });

  it('is the file’s where both have a name, of models an alias too', () => {
    const both = merged({
      providers: { house: main },
      models: {
        photo: { kind: 'image', routes: [{ provider: 'house' }] },
        drawn: { kind: 'image', aliases: ['poster', 'sketch'], routes: [{ provider: 'house' }] },
      },
    });
    expect(both.catalog.providers.get('house')?.type).toBe('sandbox');
    expect(names(both)[1]).toEqual(['poster', 'drawn']);
    expect(both.catalog.models.get('drawn')?.aliases).toEqual(['sketch']);
    expect(problems(both)).toEqual([
      'providers.house is not used, because models.yaml defines this name',
      'models.photo is not used, because models.yaml defines this name',
    ]);
  });

  it('is the console’s where the built-in catalog has the name, or the console uses it as an alias', () => {
    const both = merged(
      {
        providers: { main },
        models: { drawn: { kind: 'image', aliases: ['poster'], routes: [{ provider: 'main' }] } },
      },
      'built-in',
    );
    expect(names(both)).toEqual([['main', 'house'], ['drawn']]);
    const [, models] = names(
      merged({ models: { poster: { kind: 'image', routes: [{ provider: 'house', model: 'own' }] } } }, 'built-in'),
    );
    expect(models).toEqual(['poster']);
  });

  it.each<[string, Partial<ConsoleEntries>, string[]]>([
    [
      'a provider whose key can not be read, and the models that need it',
      {
        providers: { main: { ...main, keys: [{ name: 'team', sealed: 'pkey_gone' }] } },
        models: { drawn: { kind: 'image', routes: [{ provider: 'main' }] } },
      },
      [
        'providers.main.keys.0 was encrypted with a SECRET_KEY that is no longer set; enter it again',
        'models.drawn.routes.0 names the provider main, which is not listed',
      ],
    ],
    [
      'a model of a provider that the file has no more',
      { models: { drawn: { kind: 'image', routes: [{ provider: 'constructor' }] } } },
      ['models.drawn.routes.0 names the provider constructor, which is not listed'],
    ],
    [
      'options that the type does not have',
      { providers: { main: { ...main, options: { strem: true, stream: 'yes' } } } },
      ['providers.main.options.strem is not known', 'providers.main.options.stream must be boolean'],
    ],
    [
      'a file of the workers, which the console does not read',
      {
        providers: {
          gpu: {
            type: 'comfyui',
            base_url: 'http://10.0.0.5:8188',
            options: { workflow: '/etc/passwd', slots: { prompt: '6.text' } },
          },
        },
      },
      ['providers.gpu.options.workflow must be the content of the file, not its path'],
    ],
    ['what no adapter can be made of', { providers: { bad: main } }, ['providers.bad is bad']],
  ])('leaves out %s', (_what, added, expected) => {
    const both = merged(added, 'file', ['bad']);
    expect(problems(both)).toEqual(expected);
    expect(names(both)).toEqual([['house'], ['poster']]);
  });

  it('knows every option that names a file', () => {
    const known = Object.values(DESCRIPTORS).flatMap(({ fileOptions = [], options }) =>
      fileOptions.map((option) => Object.keys((options as { properties: object }).properties).includes(option)),
    );
    expect(known).toEqual([true, true, true, true]);
  });
});
