import fc from 'fast-check';
import { validateHeaderValue } from 'node:http';
import { AppError } from './app-error.js';
import { ImageGenerationRequest } from './image-request.js';
import { ignoredParamsHeader, readFields } from './request-fields.js';

describe('readFields', () => {
  it('keeps what the class knows, drops null, and names the rest', () => {
    const { request, ignored } = readFields(ImageGenerationRequest, {
      prompt: 'a',
      n: null,
      seed: 7,
      constructor: 1,
      toString: 2,
    });
    expect({ ...request }).toEqual({ prompt: 'a' });
    expect(ignored).toEqual(['seed', 'constructor', 'toString']);
  });

  it('is not confused by a body that names prototypes', () => {
    const body: unknown = JSON.parse('{"__proto__":{"n":2},"prompt":"a"}');
    const { request, ignored } = readFields(ImageGenerationRequest, body);
    expect(request.n).toBeUndefined();
    expect(ignored).toEqual(['__proto__']);
  });

  it.each([undefined, null, [], 'text', 7])('refuses a body that is no object: %p', (body) => {
    expect(() => readFields(ImageGenerationRequest, body)).toThrow(AppError);
  });
});

describe('ignoredParamsHeader', () => {
  it('is absent when nothing was ignored', () => {
    expect(ignoredParamsHeader([])).toBeUndefined();
  });

  it('is a short, valid header whatever the names are', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string({ unit: 'binary', maxLength: 500 }), { minLength: 1, maxLength: 200 }),
        (names) => {
          const header = ignoredParamsHeader(names) ?? '';
          expect(() => {
            validateHeaderValue('x-ignored-params', header);
          }).not.toThrow();
          expect(header.length).toBeLessThan(2_200);
        },
      ),
    );
  });
});
