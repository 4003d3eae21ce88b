import type { Model } from '../../api/types.ts';
import { usualModel } from './settings.ts';

const model = (id: string, sandbox: boolean) => ({ id, sandbox }) as Model;

describe('the model of whoever has chosen none', () => {
  it('is one of a provider, where there is any', () => {
    expect(usualModel([model('gpt-image-2', true), model('my-image', false)])).toBe('my-image');
    expect(usualModel([model('my-image', false), model('gpt-image-2', false)])).toBe('gpt-image-2');
  });

  it('is gpt-image-2 where the sandbox draws all of them, or else the first', () => {
    expect(usualModel([model('a-model', true), model('gpt-image-2', true)])).toBe('gpt-image-2');
    expect(usualModel([model('a-model', true), model('b-model', true)])).toBe('a-model');
    expect(usualModel([])).toBe('gpt-image-2');
  });
});
