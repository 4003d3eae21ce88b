import { BASE_VALUES, valueProblem } from './accepted-values.js';
import { AppError } from './app-error.js';
import { assertFields } from './field-rule.js';
import { AsyncImageGenerationRequest, ImageEditRequest, ImageGenerationRequest } from './image-request.js';
import { readFields } from './request-fields.js';

const PNG = 'data:image/png;base64,iVBORw0KGgo=';

/** By the rules of its class, and of a model that accepts the usual values. */
function problem(requestClass: new () => object, body: object): string {
  const action = requestClass === ImageEditRequest ? 'edit' : 'generation';
  try {
    assertFields(readFields(requestClass, body).request, (field, value) =>
      valueProblem(BASE_VALUES, action, field, value),
    );
    return 'ok';
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    return `${error.code} ${error.param ?? ''}`.trim();
  }
}

const generation = (changes: object): string =>
  problem(ImageGenerationRequest, { model: 'gpt-image-2', prompt: 'a fox', ...changes });
const edit = (changes: object): string =>
  problem(ImageEditRequest, { prompt: 'a fox', images: [{ image_url: PNG }], ...changes });

describe('a generation request', () => {
  it.each([
    ['model absent', { model: null }, 'missing_required_parameter model'],
    ['model no string', { model: 7 }, 'invalid_type model'],
    ['prompt absent', { prompt: undefined }, 'missing_required_parameter prompt'],
    ['prompt no string', { prompt: ['a'] }, 'invalid_type prompt'],
    ['prompt empty', { prompt: '' }, 'invalid_value prompt'],
    ['prompt of blanks', { prompt: ' ' }, 'ok'],
    ['prompt of 32,000 code points', { prompt: '\u{1F98A}'.repeat(32_000) }, 'ok'],
    ['prompt of 32,001 code points', { prompt: '\u{1F98A}'.repeat(32_001) }, 'string_above_max_length prompt'],
    ['prompt of 32,001 letters', { prompt: 'a'.repeat(32_001) }, 'string_above_max_length prompt'],
    ['prompt with NUL', { prompt: 'a\u0000' }, 'invalid_value prompt'],
    ['n 1', { n: 1 }, 'ok'],
    ['n null', { n: null }, 'ok'],
    ['n 0', { n: 0 }, 'integer_below_min_value n'],
    ['n 2', { n: 2 }, 'integer_above_max_value n'],
    ['n text', { n: '1' }, 'invalid_type n'],
    ['n 1.5', { n: 1.5 }, 'invalid_type n'],
    ['size pixels', { size: '1024x1024' }, 'ok'],
    ['size against a rule', { size: '1024x32' }, 'invalid_value size'],
    ['size unknown ratio', { size: '7:3' }, 'invalid_value size'],
    ['size no string', { size: 1 }, 'invalid_type size'],
    ['resolution unknown', { resolution: '8k' }, 'invalid_value resolution'],
    ['image_urls no array', { image_urls: PNG }, 'invalid_type image_urls'],
    ['image_urls empty', { image_urls: [] }, 'ok'],
    ['16 image_urls', { image_urls: Array(16).fill(PNG) }, 'ok'],
    ['17 image_urls', { image_urls: Array(17).fill(PNG) }, 'array_above_max_length image_urls'],
    ['a bad item', { image_urls: [PNG, PNG, PNG, 'ftp://a.example/b'] }, 'invalid_image_url image_urls[3]'],
    ['an item that is null', { image_urls: [PNG, null] }, 'invalid_type image_urls[1]'],
    ['any image type, because the bytes decide', { image_urls: ['data:image/gif;base64,R0lG'] }, 'ok'],
    ['a data URI without base64', { image_urls: ['data:image/png,abc'] }, 'invalid_base64_image image_urls[0]'],
    ['an item too long', { image_urls: [PNG.padEnd(20_971_521, 'A')] }, 'string_above_max_length image_urls[0]'],
    ['response_format unknown', { response_format: 'base64' }, 'invalid_value response_format'],
    ['quality unknown', { quality: 'best' }, 'invalid_value quality'],
    ['quality hd', { quality: 'hd' }, 'ok'],
    ['background unknown', { background: 'blue' }, 'invalid_value background'],
    ['moderation unknown', { moderation: 'none' }, 'invalid_value moderation'],
    ['output_format unknown', { output_format: 'gif' }, 'invalid_value output_format'],
    ['output_compression 101', { output_compression: 101 }, 'integer_above_max_value output_compression'],
    ['output_compression -1', { output_compression: -1 }, 'integer_below_min_value output_compression'],
    ['partial_images 4', { partial_images: 4 }, 'integer_above_max_value partial_images'],
    ['stream false', { stream: false }, 'ok'],
    ['stream true', { stream: true, partial_images: 3 }, 'ok'],
    ['stream text', { stream: 'false' }, 'invalid_type stream'],
    ['user no string', { user: {} }, 'invalid_type user'],
    ['all of it null', { size: null, image_urls: null, user: null, stream: null, quality: null }, 'ok'],
  ])('%s', (_name, changes, expected) => {
    expect(generation(changes)).toBe(expected);
  });

  it('reports the first problem in the order of its fields, however they are sent', () => {
    expect(problem(ImageGenerationRequest, { n: 2, size: 'x', prompt: '', model: 7 })).toBe('invalid_type model');
    expect(generation({ quality: 'best', size: 'x' })).toBe('invalid_value size');
  });

  it('knows callback_url only in its asynchronous form', () => {
    const body = { model: 'gpt-image-2', prompt: 'a', callback_url: 'http://a.example/b' };
    expect(problem(AsyncImageGenerationRequest, body)).toBe('invalid_value callback_url');
    expect(problem(ImageGenerationRequest, body)).toBe('ok');
  });
});

describe('an edit request', () => {
  it.each([
    ['model absent', {}, 'ok'],
    ['images absent', { images: null }, 'missing_required_parameter images'],
    ['images empty', { images: [] }, 'array_below_min_length images'],
    ['17 images', { images: Array(17).fill({ image_url: PNG }) }, 'array_above_max_length images'],
    ['an item that is text', { images: [PNG] }, 'invalid_type images[0]'],
    ['an item without image_url', { images: [{}] }, 'missing_required_parameter images[0].image_url'],
    ['an item with file_id', { images: [{ file_id: 'file-1' }] }, 'unsupported_parameter images[0].file_id'],
    [
      'a bad second item',
      { images: [{ image_url: PNG }, { image_url: 'x' }] },
      'invalid_image_url images[1].image_url',
    ],
    ['mask that is text', { mask: PNG }, 'invalid_type mask'],
    ['mask with file_id', { mask: { file_id: 'file-1' } }, 'unsupported_parameter mask.file_id'],
    ['size auto', { size: 'auto' }, 'ok'],
    ['size free', { size: '1536x1024' }, 'ok'],
    ['size ratio', { size: '3:2', resolution: '1k' }, 'ok'],
    ['size against a rule', { size: '1000x300' }, 'invalid_value size'],
    ['size senseless', { size: 'large' }, 'invalid_value size'],
    ['quality hd', { quality: 'hd' }, 'invalid_value quality'],
    ['input_fidelity', { input_fidelity: 'high' }, 'ok'],
    ['input_fidelity unknown', { input_fidelity: 'max' }, 'invalid_value input_fidelity'],
  ])('%s', (_name, changes, expected) => {
    expect(edit(changes)).toBe(expected);
  });
});
