import { extraFromText, extraProblem, KNOWN_FIELDS, type ExtraField } from './extra-fields.js';
import {
  AsyncImageEditForm,
  AsyncImageEditRequest,
  AsyncImageGenerationRequest,
  ImageGenerationRequest,
} from './image-request.js';
import { fieldsOf } from './request-fields.js';

const SEED: ExtraField = { type: 'integer', min: 0, max: 100 };
const GUIDANCE: ExtraField = { type: 'number', min: 0.5, max: 20 };
const SAMPLER: ExtraField = { type: 'string', enum: ['euler', 'ddim'] };
const NEGATIVE: ExtraField = { type: 'string', max_length: 5 };
const TILING: ExtraField = { type: 'boolean' };

describe('a field that only a catalog entry knows', () => {
  it.each<[ExtraField, unknown, string | undefined]>([
    [SEED, 0, undefined],
    [SEED, 100, undefined],
    [SEED, -1, 'integer_below_min_value: x must be at least 0'],
    [SEED, 101, 'integer_above_max_value: x must be at most 100'],
    [SEED, 1.5, 'invalid_type: x must be an integer'],
    [SEED, '7', 'invalid_type: x must be an integer'],
    [SEED, [7], 'invalid_type: x must be an integer'],
    [GUIDANCE, 7.5, undefined],
    [GUIDANCE, 0.4, 'invalid_value: x must be at least 0.5'],
    [GUIDANCE, 20.1, 'invalid_value: x must be at most 20'],
    [SAMPLER, 'ddim', undefined],
    [SAMPLER, 'dpm', 'invalid_value: x must be one of euler, ddim'],
    [SAMPLER, { name: 'ddim' }, 'invalid_type: x must be a string'],
    [NEGATIVE, 'blur', undefined],
    [NEGATIVE, 'blurry', 'string_above_max_length: x must be at most 5 characters long'],
    [NEGATIVE, 'a\u0000', 'invalid_value: x must not contain the NUL character'],
    [TILING, false, undefined],
    [TILING, 'false', 'invalid_type: x must be true or false'],
  ])('%j takes %j: %s', (field, value, problem) => {
    const found = extraProblem(field, 'x', value);
    expect(found && `${found.code}: ${found.message}`).toBe(problem);
  });

  it('is read from the text of a form by its type', () => {
    expect(extraFromText(SEED, '7')).toBe(7);
    expect(extraFromText(SEED, 'seven')).toBe('seven');
    expect(extraFromText(GUIDANCE, '-7.25')).toBe(-7.25);
    expect(extraFromText(TILING, 'TRUE')).toBe(true);
    expect(extraFromText(NEGATIVE, '7')).toBe('7');
  });

  it('is none that every request has', () => {
    const requests = [
      ...[ImageGenerationRequest, AsyncImageGenerationRequest, AsyncImageEditRequest, AsyncImageEditForm],
    ].flatMap((requestClass) => fieldsOf(requestClass));
    expect(requests.filter((name) => !KNOWN_FIELDS.includes(name))).toEqual([]);
  });
});
