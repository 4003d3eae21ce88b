import { BASE_VALUES, usualValues, valueProblem, type AcceptedValues } from './accepted-values.js';

const NARROW: AcceptedValues = {
  qualities: ['xhigh', 'max'],
  editQualities: ['max'],
  outputFormats: ['webp', 'jpeg'],
  sizes: ['16:9', '2:3'],
  pixelSizes: false,
  maxN: 4,
  complexities: ['low', 'high'],
  inputFidelities: ['low'],
};

describe('the values that a model accepts', () => {
  it.each([
    ['quality', 'xhigh', 'generation', undefined],
    ['quality', 'xhigh', 'edit', 'quality must be one of max'],
    ['quality', 'high', 'generation', 'quality must be one of xhigh, max'],
    ['quality', '', 'generation', 'quality must be one of xhigh, max'],
    ['output_format', 'jpeg', 'edit', undefined],
    ['output_format', 'png', 'edit', 'output_format must be one of webp, jpeg'],
    ['size', '2:3', 'generation', undefined],
    ['size', 'auto', 'generation', 'size must be one of 16:9, 2:3'],
    ['size', '1024x1024', 'generation', 'size must be one of 16:9, 2:3'],
    ['background', 'blue', 'generation', undefined],
    ['quality', 7, 'generation', undefined],
    ['size', undefined, 'edit', undefined],
    ['complexity', 'low', 'generation', undefined],
    ['complexity', 'medium', 'edit', 'complexity must be one of low, high'],
    ['input_fidelity', 'low', 'edit', undefined],
    ['input_fidelity', 'high', 'edit', 'input_fidelity must be one of low'],
    ['n', 4, 'edit', undefined],
    ['n', 5, 'generation', 'n must be at most 4'],
    ['n', '5', 'generation', undefined],
  ] as const)('decide about %s %p of a(n) %s', (field, value, action, message) => {
    expect(valueProblem(NARROW, action, field, value)?.message).toBe(message);
  });

  it('say which rule pixels break, and what else is a size', () => {
    const few = { ...BASE_VALUES, sizes: ['1:1'] as const };
    expect(valueProblem(few, 'edit', 'size', '1000x500')).toBeUndefined();
    expect(valueProblem(few, 'edit', 'size', '1000x300')?.message).toMatch(
      /^size is not valid: the aspect ratio must be at most 3:1. It must be one of 1:1, or <width>x<height> with /,
    );
    expect(valueProblem(few, 'edit', 'size', '3:2')?.message).toMatch(/^size must be one of 1:1, or <width>x<height> /);
  });

  it('hold what is usual, or else come first', () => {
    expect(usualValues(BASE_VALUES, 'generation')).toEqual({ size: '1:1', outputFormat: 'png' });
    expect(usualValues(BASE_VALUES, 'edit')).toEqual({ size: 'auto', outputFormat: 'png' });
    expect(usualValues(NARROW, 'edit')).toEqual({ size: '16:9', outputFormat: 'webp' });
  });
});
