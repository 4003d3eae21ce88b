import type { FieldProblem } from './field-rule.js';
import { brokenPixelRule, IMAGE_SIZES, parsePixelSize, PIXEL_FORM, type ImageSize } from './pixel-table.js';

/** Formats of finished images that consist of pixels. */
const RASTER_FORMATS = ['png', 'jpeg', 'webp', 'gif'] as const;

/** Formats of finished images; svg only for models whose entries list it. */
export const OUTPUT_FORMATS = [...RASTER_FORMATS, 'svg'] as const;
export type OutputFormat = (typeof OUTPUT_FORMATS)[number];

/** Values of `response_format`. */
export const RESPONSE_FORMATS = ['url', 'b64_json'] as const;
export type ResponseFormat = (typeof RESPONSE_FORMATS)[number];
/** Response formats for requests without a `response_format`. */
export const DEFAULT_RESPONSE_FORMATS = ['both', ...RESPONSE_FORMATS] as const;
export type DefaultResponseFormat = (typeof DEFAULT_RESPONSE_FORMATS)[number];

/** Values of `complexity`: how much the model plans before it draws. */
export const COMPLEXITIES = ['low', 'medium', 'high'] as const;
/** Values of `input_fidelity`. */
export const INPUT_FIDELITIES = ['high', 'low'] as const;

/** The values that a model accepts in image request fields whose values differ between models. */
export interface AcceptedValues {
  /** For generations. */
  readonly qualities: readonly string[];
  readonly editQualities: readonly string[];
  readonly outputFormats: readonly OutputFormat[];
  /** Ratios and `auto`. */
  readonly sizes: readonly ImageSize[];
  /** Whether `<w>x<h>` is accepted too. */
  readonly pixelSizes: boolean;
  /** Largest `n`, the number of images of one request. */
  readonly maxN: number;
  /** Empty: the model has no `complexity`. */
  readonly complexities: readonly string[];
  /** Empty: `input_fidelity` has no effect, because the model always keeps what it sees. */
  readonly inputFidelities: readonly string[];
}

/** Accepted by gpt-image-2, and by every model whose entry and providers don't say otherwise. */
export const BASE_VALUES: AcceptedValues = {
  qualities: ['standard', 'hd', 'low', 'medium', 'high', 'auto'],
  editQualities: ['standard', 'low', 'medium', 'high', 'auto'],
  outputFormats: ['png', 'jpeg', 'webp'],
  sizes: IMAGE_SIZES,
  pixelSizes: true,
  maxN: 1,
  complexities: [],
  inputFidelities: INPUT_FIDELITIES,
};

/** Why the model does not accept a field's value, with the accepted ones. Other rules check the value's type. */
export function valueProblem(
  accepted: AcceptedValues,
  action: 'generation' | 'edit',
  field: string,
  value: unknown,
): FieldProblem | undefined {
  if (field === 'n') return countProblem(accepted.maxN, value);
  if (typeof value !== 'string') return undefined;
  switch (field) {
    case 'quality':
      return unlessOneOf(action === 'edit' ? accepted.editQualities : accepted.qualities, field, value);
    case 'output_format':
      return unlessOneOf(accepted.outputFormats, field, value);
    case 'size':
      return sizeProblem(accepted, value);
    case 'complexity':
      return accepted.complexities.length === 0
        ? { code: 'unsupported_parameter', message: 'The model does not support complexity.' }
        : unlessOneOf(accepted.complexities, field, value);
    case 'input_fidelity':
      return accepted.inputFidelities.length === 0 ? undefined : unlessOneOf(accepted.inputFidelities, field, value);
    default:
      return undefined;
  }
}

/** Size and format of a request that names none: the usual ones, or else the first that the model accepts. */
export function usualValues(
  { sizes, outputFormats }: AcceptedValues,
  action: 'generation' | 'edit',
): { readonly size: ImageSize; readonly outputFormat: OutputFormat } {
  const size = action === 'edit' ? 'auto' : '1:1';
  return {
    size: sizes.includes(size) ? size : (sizes[0] ?? size),
    outputFormat: outputFormats.includes('png') ? 'png' : (outputFormats[0] ?? 'png'),
  };
}

function countProblem(maxN: number, value: unknown): FieldProblem | undefined {
  if (typeof value !== 'number' || value <= maxN) return undefined;
  return { code: 'integer_above_max_value', message: `n must be at most ${maxN}` };
}

function unlessOneOf(values: readonly string[], field: string, value: string): FieldProblem | undefined {
  if (values.includes(value)) return undefined;
  return { code: 'invalid_value', message: `${field} must be one of ${values.join(', ')}` };
}

function sizeProblem({ sizes, pixelSizes }: AcceptedValues, value: string): FieldProblem | undefined {
  if (!pixelSizes) return unlessOneOf(sizes, 'size', value);
  if (sizes.some((size) => size === value)) return undefined;
  const pixels = parsePixelSize(value);
  const broken = pixels === undefined ? '' : brokenPixelRule(pixels);
  if (broken === undefined) return undefined;
  const forms = `must be one of ${sizes.join(', ')}, or ${PIXEL_FORM}`;
  return {
    code: 'invalid_value',
    message: broken === '' ? `size ${forms}` : `size is not valid: ${broken}. It ${forms}`,
  };
}
