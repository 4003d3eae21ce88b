import { AsyncImageEditForm, AsyncImageGenerationRequest } from '#contract/image-request.js';
import type { Caller } from '../auth/caller.js';
import {
  assertCombination,
  assertNoPixels,
  editCommand,
  generationCommand,
  normalizeSpelling,
} from './submit-command.js';

const caller: Caller = {
  accountId: 'acct_1',
  keyId: 'key_1',
  originalKeyId: 'key_1',
  models: [],
  scopes: [],
  role: undefined,
  defaultResponseFormat: undefined,
  allowPixelSize: false,
  submitMode: 'sync',
  budgeted: false,
  own: undefined,
  limits: { submits: undefined, polls: undefined, tasksInFlight: undefined },
  account: { weight: 1, limits: { submits: undefined, polls: undefined, chats: undefined, tasksInFlight: undefined } },
  weight: 1,
};
const context = {
  taskId: 'task_1',
  requestId: 'req_1',
  caller,
  inputs: [],
  mask: null,
  asynchronous: false,
  ignored: [],
  costOf: () => null,
};
const generation = (changes: object = {}) =>
  Object.assign(new AsyncImageGenerationRequest(), { model: 'gpt-image-2', prompt: 'a fox' }, changes);
const edit = (changes: object = {}) => Object.assign(new AsyncImageEditForm(), { prompt: 'a fox' }, changes);

describe('generationCommand', () => {
  it('fills in the defaults', () => {
    expect(generationCommand(generation(), context)).toMatchObject({
      id: 'task_1',
      accountId: 'acct_1',
      apiKeyId: 'key_1',
      originalKeyId: 'key_1',
      requestId: 'req_1',
      action: 'generation',
      model: 'gpt-image-2',
      prompt: 'a fox',
      options: { size: '1:1', resolution: '2k', pixels: { width: 2048, height: 2048 }, outputFormat: 'png' },
      callbackUrl: null,
      asynchronous: false,
    });
  });

  it('leaves the pixels of auto to the provider, at the tier that was asked for', () => {
    const { options } = generationCommand(generation({ size: 'auto', resolution: '4k' }), context);
    expect(options).toMatchObject({ size: 'auto', resolution: '4k', pixels: null });
  });

  it('says of how many images it is, if it is of more than one', () => {
    const n = (changes: object) => generationCommand(generation(changes), context).options.n;
    expect([n({}), n({ n: 1 }), n({ n: 3 })]).toEqual([undefined, undefined, 3]);
  });

  it('orders partial images only of a stream', () => {
    const partialsOf = (changes: object) => generationCommand(generation(changes), context).options.partialImages;
    expect(partialsOf({ stream: true, partial_images: 2 })).toBe(2);
    expect(partialsOf({ partial_images: 2 })).toBeUndefined();
    expect(partialsOf({ stream: true })).toBeUndefined();
  });

  it('makes text storable', () => {
    expect(generationCommand(generation({ prompt: 'a\ud83d', user: '\udc00' }), context)).toMatchObject({
      prompt: 'a\ufffd',
      options: { user: '\ufffd' },
    });
  });
});

describe('editCommand', () => {
  it('defaults to auto and the one model', () => {
    expect(editCommand(edit(), context)).toMatchObject({
      action: 'edit',
      model: 'gpt-image-2',
      options: { size: 'auto', pixels: null },
    });
  });

  it('takes free pixels as they are, and ratios by the table', () => {
    const free = editCommand(edit({ size: '1536x1024' }), context).options;
    expect(free).toMatchObject({ size: '1536x1024', resolution: null, pixels: { width: 1536, height: 1024 } });
    const ratio = editCommand(edit({ size: '3:2', resolution: '4k' }), context).options;
    expect(ratio).toMatchObject({ size: '3:2', resolution: '4k', pixels: { width: 3520, height: 2336 } });
  });
});

describe('normalizeSpelling', () => {
  it('takes any case of the resolution', () => {
    const fields = { resolution: '4K' };
    expect(normalizeSpelling(fields)).toEqual([]);
    expect(fields.resolution).toBe('4k');
  });

  it('sets the resolution aside beside a size in pixels, and says so', () => {
    const pixels = { size: '1536x1024', resolution: '4K' };
    expect(normalizeSpelling(pixels)).toEqual(['resolution']);
    expect(pixels).toEqual({ size: '1536x1024' });
    for (const fields of [{ size: '512x512' }, { size: '3:2', resolution: '4k' }, { size: 7, resolution: '1k' }]) {
      const before = { ...fields };
      expect(normalizeSpelling(fields)).toEqual([]);
      expect(fields).toEqual(before);
    }
  });
});

describe('assertNoPixels', () => {
  it('names the ratios, and leaves what is no text to other rules', () => {
    for (const size of ['1024x1024', '10x10', 'large']) {
      expect(() => {
        assertNoPixels({ size });
      }).toThrow(expect.objectContaining({ code: 'invalid_value', param: 'size' }) as Error);
    }
    for (const size of ['auto', '9:21', undefined, 7]) {
      expect(() => {
        assertNoPixels({ size });
      }).not.toThrow();
    }
  });
});

describe('assertCombination', () => {
  it.each([
    ['a model the key may not use', generation(), { ...caller, models: ['other'] }, false, 'model_not_allowed'],
    ['a streamed task', generation({ stream: true }), caller, true, 'invalid_value'],
    ['links in a stream', generation({ stream: true, response_format: 'url' }), caller, false, 'invalid_value'],
    ['base64 of a task', generation({ response_format: 'b64_json' }), caller, true, 'invalid_value'],
    [
      'transparent jpeg',
      generation({ background: 'transparent', output_format: 'jpeg' }),
      caller,
      false,
      'invalid_value',
    ],
  ])('refuses %s', (_name, fields, asCaller, asynchronous, code) => {
    expect(() => {
      assertCombination(fields, asCaller, asynchronous);
    }).toThrow(expect.objectContaining({ code }) as Error);
  });

  it('has nothing against the rest', () => {
    expect(() => {
      assertCombination(generation({ response_format: 'b64_json', background: 'transparent' }), caller, false);
    }).not.toThrow();
  });
});
