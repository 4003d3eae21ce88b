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
import { DescribeBodies } from '../docs/finish-document.js';
import { DescribeErrors, DescribeProtected, FILE, REQUEST_ID_HEADER, TASK_HEADERS } from '../common/describe.js';

const FILES = 'PNG, JPEG or WebP, up to 50 MB each. At least one here or in `image[]`.';
const IMAGE_ERRORS = [400, 402, 409, 413, 415, 422, 429, 502, 504];

/** `operationId` differs between the path with `/v1` and its alias. */
export function DescribeGeneration(operationId: string): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId,
      summary: 'Generate an image and wait for it',
      description:
        'Text to image, optionally with reference images. `/images/generations` is an alias. ' +
        'Keys of submit mode `apimart` are answered at once with the id of the task.',
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
      description: 'Answers at once with the id of a task to poll or follow.',
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
      description: 'JSON with image URLs, or multipart/form-data with files; answered at once with the id of the task.',
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
    ApiQuery({ name: 'async', required: false, enum: ['true', 'false'], description: '`true`: answer 202 at once.' }),
    ApiHeader({ name: 'Prefer', required: false, description: '`respond-async`, `wait=N` (seconds), or both.' }),
    ApiResponse({
      status: 200,
      description:
        'The image (or, for keys of submit mode `apimart`, the task; or, with `dry_run=true`, the quote). With `stream: true`, events named after the ' +
        '`type` of their data: partial images, then the finished one. A failure is an `error` event with the error body.',
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
    description: '`true`: check the request and say what it costs. Nothing is made, stored or charged.',
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
      '1 to 255 visible ASCII characters, in double quotes or without, kept 24 hours by default; shared by all keys of an account. A repeat of the request with the same key gets the same task: ' +
      'it waits for it while it runs, and gets its outcome again afterwards.',
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
      location: { description: 'Where to poll.', ...text },
      'retry-after': { description: 'Seconds until the first poll.', schema: { type: 'integer' } },
      'preference-applied': { description: '`respond-async` when that was asked for.', ...text },
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
      'image[]': { type: 'array' as const, items: FILE, maxItems: 16, description: 'Same as image.' },
      mask: { ...FILE, description: 'PNG up to 4 MB, as large as the first image; alpha 0 = edit here.' },
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
