import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { UploadResponse } from '#contract/upload-response.js';
import {
  DescribeBodies,
  DescribeErrors,
  DescribeProtected,
  FILE,
  PUBLIC,
  REQUEST_ID_HEADER,
} from '../common/describe.js';

/** Documents a form with one file. */
export function DescribeUpload(): MethodDecorator {
  const file = { ...FILE, description: 'PNG, JPEG, WebP, or still AVIF or GIF, up to 20 MB.' };
  return applyDecorators(
    ApiOperation({
      operationId: 'uploadImage',
      summary: 'Upload a reference image',
      description:
        'Use the returned `url` to refer to the image in requests of the same account. It expires after 72 hours unless the ' +
        'deployment is configured differently.',
    }),
    DescribeBodies({
      'multipart/form-data': { schema: { type: 'object', properties: { file }, required: ['file'] } },
    }),
    ApiResponse({
      status: 200,
      type: UploadResponse,
      headers: { ...REQUEST_ID_HEADER, 'x-ignored-params': { schema: { type: 'string' } } },
    }),
    DescribeErrors(400, 413, 415, 429),
    DescribeProtected(),
  );
}

/** Documents a link that always returns 404. */
export function DescribeUploadLink(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'openUpload',
      summary: 'Always 404: uploads are not served',
      description: 'The URL of an upload only identifies the image in requests. Opening it always returns 404.',
      ...PUBLIC,
    }),
    ApiParam({ name: 'name', type: String, example: 'upload_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' }),
    DescribeErrors(404, 405, 500),
  );
}
