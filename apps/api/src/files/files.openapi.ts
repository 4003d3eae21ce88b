import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { DescribeErrors, PUBLIC, REQUEST_ID_HEADER } from '../common/describe.js';

const BYTES = { schema: { type: 'string' as const, format: 'binary' } };

/** Documents the image bytes, and the 304 for a cached image. */
export function DescribeFile(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getFile',
      summary: 'Get an image by its signed link',
      description: 'Links are part of results and tasks.',
      ...PUBLIC,
    }),
    ApiParam({ name: 'name', type: String, example: 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A-1.png' }),
    ApiQuery({
      name: 'exp',
      required: true,
      schema: { type: 'integer' },
      description: 'Expiry of the link, in Unix seconds.',
    }),
    ApiQuery({ name: 'sig', required: true, type: String, description: 'Signature of the name and expiry.' }),
    ApiResponse({
      status: 200,
      description: 'The image.',
      headers: { ...REQUEST_ID_HEADER, etag: { schema: { type: 'string' } } },
      content: {
        'image/png': BYTES,
        'image/jpeg': BYTES,
        'image/webp': BYTES,
        'image/gif': BYTES,
        'image/svg+xml': BYTES,
      },
    }),
    ApiResponse({
      status: 206,
      description: 'The part of the image that Range asks for, if it is one range.',
      headers: { ...REQUEST_ID_HEADER, 'content-range': { schema: { type: 'string' } } },
      content: {
        'image/png': BYTES,
        'image/jpeg': BYTES,
        'image/webp': BYTES,
        'image/gif': BYTES,
        'image/svg+xml': BYTES,
      },
    }),
    ApiResponse({
      status: 304,
      description: 'The image still matches If-None-Match.',
      headers: REQUEST_ID_HEADER,
    }),
    DescribeErrors(403, 404, 405, 416, 429, 500, 503),
  );
}
