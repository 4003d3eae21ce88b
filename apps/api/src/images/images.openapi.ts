import { applyDecorators } from '@nestjs/common';
import {
  ApiBody,
  ApiExtraModels,
  ApiHeader,
  ApiOperation,
  ApiQuery,
  ApiResponse,
  getSchemaPath,
} from '@nestjs/swagger';
import { ErrorResponse } from '#contract/error-response.js';
import { QuoteResponse } from '#contract/cost-view.js';
import { ImageCompletedEvent, ImagePartialEvent, ImageResponse } from '#contract/image-response.js';
import {
  AsyncImageEditForm,
  AsyncImageEditRequest,
  AsyncImageGenerationRequest,
  ImageEditForm,
  ImageEditRequest,
  ImageGenerationRequest,
} from '#contract/image-request.js';
import { SubmittedResponse, TaskAcceptance } from '#contract/task-acceptance.js';
import {
  DescribeBodies,
  DescribeErrors,
  DescribeProtected,
  FILE,
  REQUEST_ID_HEADER,
  TASK_HEADERS,
} from '../common/describe.js';

const FILES =
  'PNG, JPEG, WebP, or still AVIF (up to 24 megapixels) or GIF, which are converted to PNG; up to 50 MB each. At least one here or in `image[]`.';
const IMAGE_ERRORS = [400, 402, 409, 413, 415, 422, 429, 502, 504];

/** `operationId` differs between the path with `/v1` and its alias. */
export function DescribeGeneration(operationId: string): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId,
      summary: 'Generate an image and wait for it',
      description:
        'Generates images from a prompt, optionally with reference images. `/images/generations` is an alias. ' +
        'For keys with submit mode `apimart`, returns the task ID immediately.',
    }),
    ApiBody({ type: ImageGenerationRequest }),
    DescribeSyncAnswers(),
  );
}

/** Documents 202 with the task, or 200 with a quote. */
export function DescribeAsyncGeneration(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'generateImageAsync',
      summary: 'Generate an image without waiting',
      description: 'Returns a task ID immediately; poll or stream the task.',
    }),
    ApiBody({ type: AsyncImageGenerationRequest }),
    DescribeQuote(),
    DescribeAcceptance(),
    DescribeErrors(...IMAGE_ERRORS),
    DescribeRepeats(),
    DescribeProtected(),
  );
}

/** Documents both bodies: JSON and multipart. */
export function DescribeEdit(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'editImage',
      summary: 'Edit images and wait for the result',
      description: 'JSON with image URLs, or multipart/form-data with files.',
    }),
    DescribeEditBody(ImageEditRequest, ImageEditForm),
    DescribeSyncAnswers(),
  );
}

/** Documents both bodies, and 202 with the task or 200 with a quote. */
export function DescribeAsyncEdit(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'editImageAsync',
      summary: 'Edit images without waiting',
      description: 'JSON with image URLs, or multipart/form-data with files. Returns a task ID immediately.',
    }),
    DescribeEditBody(AsyncImageEditRequest, AsyncImageEditForm),
    DescribeQuote(),
    DescribeAcceptance(),
    DescribeErrors(...IMAGE_ERRORS),
    DescribeRepeats(),
    DescribeProtected(),
  );
}

function DescribeSyncAnswers(): MethodDecorator {
  return applyDecorators(
    DescribeDryRun(),
    ApiQuery({
      name: 'async',
      required: false,
      enum: ['true', 'false'],
      description: '`true`: return 202 immediately.',
    }),
    ApiHeader({ name: 'Prefer', required: false, description: '`respond-async`, `wait=N` (seconds), or both.' }),
    ApiResponse({
      status: 200,
      description:
        'The image (with submit mode `apimart`, the task; with `dry_run=true`, the quote). With `stream: true`, server-sent events named after the ' +
        '`type` of their data: partial images, then the final image. A failure is an `error` event with the error body.',
      headers: TASK_HEADERS,
      content: {
        'application/json': { schema: anyOfThese(ImageResponse, SubmittedResponse, QuoteResponse) },
        'text/event-stream': { schema: anyOfThese(ImagePartialEvent, ImageCompletedEvent, ErrorResponse) },
      },
    }),
    ApiExtraModels(
      ImageResponse,
      SubmittedResponse,
      QuoteResponse,
      ImagePartialEvent,
      ImageCompletedEvent,
      ErrorResponse,
    ),
    DescribeAcceptance(),
    DescribeErrors(...IMAGE_ERRORS),
    DescribeRepeats(),
    DescribeProtected(),
  );
}

function DescribeDryRun(): MethodDecorator {
  return ApiQuery({
    name: 'dry_run',
    required: false,
    enum: ['true', 'false'],
    description: '`true`: validate the request and return its cost. Nothing is generated, stored, or charged.',
  });
}

/** A quote accepts nothing, so it is a 200 even on paths that otherwise return 202. */
function DescribeQuote(): MethodDecorator {
  return applyDecorators(
    DescribeDryRun(),
    ApiResponse({
      status: 200,
      type: QuoteResponse,
      description: 'With `dry_run=true`: the quote.',
      headers: REQUEST_ID_HEADER,
    }),
  );
}

function anyOfThese(...models: (new () => object)[]): { oneOf: { $ref: string }[] } {
  return { oneOf: models.map((model) => ({ $ref: getSchemaPath(model) })) };
}

function DescribeRepeats(): MethodDecorator {
  return ApiHeader({
    name: 'Idempotency-Key',
    required: false,
    description:
      '1 to 255 visible ASCII characters, with or without double quotes, remembered for 24 hours by default and shared by all API keys of an account. Repeating a request with the same Idempotency-Key returns the same task: ' +
      'it waits for a running task, and gets the stored outcome of a finished one.',
    schema: { type: 'string', minLength: 1, maxLength: 257 },
  });
}

function DescribeAcceptance(): MethodDecorator {
  const text = { schema: { type: 'string' as const } };
  return ApiResponse({
    status: 202,
    type: TaskAcceptance,
    description: 'The task was accepted.',
    headers: {
      ...REQUEST_ID_HEADER,
      'x-task-id': text,
      'x-ignored-params': text,
      'idempotency-replayed': text,
      location: { description: 'URL to poll.', ...text },
      'retry-after': { description: 'Seconds to wait before the first poll.', schema: { type: 'integer' } },
      'preference-applied': { description: '`respond-async` if requested.', ...text },
    },
  });
}

/**
 * Both bodies of an edit. The files are described here and not in the form's class, because they are never fields of an
 * object.
 */
function DescribeEditBody(json: new () => object, form: new () => object): MethodDecorator {
  const files = {
    type: 'object' as const,
    properties: {
      image: { type: 'array' as const, items: FILE, maxItems: 16, description: FILES },
      'image[]': { type: 'array' as const, items: FILE, maxItems: 16, description: 'Same as `image`.' },
      mask: {
        ...FILE,
        description:
          'PNG up to 4 MB with the dimensions of the first image. Fully transparent pixels (alpha 0) mark the area to edit.',
      },
      markup: {
        ...FILE,
        description:
          'Transparent PNG up to 4 MB with the dimensions of the first image, drawn over it to guide the edit. Not with `mask`; only for models with `capabilities.markup`.',
      },
    },
  };
  return applyDecorators(
    ApiExtraModels(json, form),
    DescribeBodies({
      'application/json': { schema: { $ref: getSchemaPath(json) } },
      'multipart/form-data': { schema: { allOf: [{ $ref: getSchemaPath(form) }, files] } },
    }),
  );
}
