import { endedText, endingModels, endingText } from './ending-models.js';
import { parseCatalog } from './parse-catalog.js';

const CATALOG = parseCatalog(
  `providers:
  openai: { type: openai, keys: [{ env: KEY }] }
  elsewhere: { type: openai, base_url: 'https://images.example/v1' }
models:
  poster: { kind: image, routes: [{ provider: elsewhere }, { provider: openai, model: gpt-image-1.5 }] }
  gpt-image-1-mini: { kind: image, routes: [{ provider: elsewhere }] }
  gpt-image-1: { kind: image, aliases: [dall-e-2], routes: [{ provider: elsewhere }] }
  sketch: { kind: image, shutdown_date: 2027-01-15, successors: [poster], routes: [{ provider: elsewhere }] }
  talk: { kind: chat, shutdown_date: 2026-10-01, routes: [{ provider: elsewhere }] }
`,
  'models.yaml',
  { KEY: 'k' },
);

describe('models that end', () => {
  const warned = (day: string): string[] => {
    const now = new Date(`${day}T00:00:00Z`);
    return endingModels(CATALOG, now).map((model) => endingText(model, now));
  };

  it('are told 30 days before, by their own entry or by what OpenAI says of a route to it', () => {
    expect(warned('2026-09-01')).toEqual(['talk ends on 2026-10-01']);
    expect(warned('2026-12-16')).toEqual([
      'poster ended on 2026-12-01 (use gpt-image-2.6-sunburst or gpt-image-2.6-flare)',
      'sketch ends on 2027-01-15 (use poster)',
      'talk ended on 2026-10-01',
    ]);
    expect(warned('2026-12-15')).not.toContain('sketch ends on 2027-01-15 (use poster)');
  });

  it('are refused from their day on, with what to use instead', () => {
    const refused = (name: string, day: string) => endedText(CATALOG, name, new Date(`${day}T00:00:00Z`));
    expect(refused('sketch', '2027-01-14')).toBeUndefined();
    expect(refused('sketch', '2027-01-15')).toBe(
      'The model was shut down on 2027-01-15. Use poster. Available: poster, gpt-image-1-mini, gpt-image-1',
    );
    expect(refused('talk', '2026-11-28')).toBe('The model was shut down on 2026-10-01.');
    for (const name of ['dall-e-3', 'DALL-E-3']) {
      expect(refused(name, '2026-11-28')).toBe(
        'The model was shut down on 2026-05-12. Use gpt-image-2. Available: poster, gpt-image-1-mini, gpt-image-1, sketch',
      );
    }
    expect(refused('chatgpt-image-latest', '2026-11-30')).toBeUndefined();
    expect(refused('constructor', '2026-11-30')).toBeUndefined();
  });

  it('are served where the operator gives their name to another one', () => {
    for (const name of ['dall-e-2', 'gpt-image-1', 'GPT-Image-1']) {
      expect(endedText(CATALOG, name, new Date('2026-11-28'))).toBeUndefined();
    }
  });
});
