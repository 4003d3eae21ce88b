import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { UploadResponse } from '#contract/upload-response.js';
import { DescribeBodies } from '../docs/finish-document.js';
import { DescribeErrors, DescribeProtected, FILE, PUBLIC, REQUEST_ID_HEADER } from '../common/describe.js';

/** Documents a form with one file. */
export function DescribeUpload(): MethodDecorator {
  const file = { ...FILE, description: 'PNG, JPEG or WebP, up to 20 MB.' };
  return applyDecorators(
    ApiOperation({
      operationId: 'uploadImage',
      summary: 'Keep a reference image for several requests',
      description:
        'The `url` of the answer stands for the image in requests of the same account, for 72 hours unless the ' +
        'deployment says otherwise.',
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
      summary: 'Say that uploads are not served',
      description: 'The link of an upload names it in requests; opened, it is answered 404 whatever it names.',
      ...PUBLIC,
    }),
    ApiParam({ name: 'name', type: String, example: 'upload_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' }),
    DescribeErrors(404, 405, 500),
  );
}
