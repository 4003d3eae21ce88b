import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { BatchList, BatchView } from '#contract/batch-view.js';
import { DeletedFile, StoredFileList, StoredFileView } from '#contract/stored-file-view.js';
import { DescribeBodies, DescribeErrors, DescribeProtected, FILE, REQUEST_ID_HEADER } from '../common/describe.js';

const headers = REQUEST_ID_HEADER;
const AFTER = ApiQuery({ name: 'after', required: false, type: String, description: '`last_id` of the page before.' });

/** Documents the upload of an input file. */
export function DescribeNewFile(): MethodDecorator {
  const file = { ...FILE, description: 'JSON Lines, up to 200 MB and 50,000 lines of 1 MB.' };
  const seconds = { type: 'integer', minimum: 3_600, maximum: 2_592_000 };
  const properties = {
    file,
    purpose: { type: 'string', enum: ['batch'] },
    'expires_after[anchor]': { type: 'string', enum: ['created_at'] },
    'expires_after[seconds]': { ...seconds, description: 'How long the file is kept. Default: 30 days.' },
  };
  return applyDecorators(
    ApiOperation({
      operationId: 'createFile',
      summary: 'Upload the input file of a batch',
      description: 'Images for requests are uploaded to `/v1/uploads/images`.',
    }),
    DescribeBodies({
      'multipart/form-data': { schema: { type: 'object', properties, required: ['file', 'purpose'] } },
    }),
    ApiResponse({
      status: 200,
      type: StoredFileView,
      headers: { ...headers, 'x-ignored-params': { schema: { type: 'string' } } },
    }),
    DescribeErrors(400, 413, 415, 429),
    DescribeProtected(),
  );
}

/** Documents the pages of files. */
export function DescribeFiles(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listFiles',
      summary: 'List files of batches, newest first',
      description: 'Input files and results. A page has at most 1,000 files, whatever `limit` says.',
    }),
    ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 10_000 } }),
    AFTER,
    ApiQuery({ name: 'purpose', required: false, enum: ['batch', 'batch_output'] }),
    ApiQuery({ name: 'order', required: false, schema: { type: 'string', enum: ['asc', 'desc'], default: 'desc' } }),
    ApiResponse({ status: 200, type: StoredFileList, headers }),
    DescribeErrors(400, 429),
    DescribeProtected(),
  );
}

/** Documents what is known of a file. */
export function DescribeStoredFile(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getFileInfo',
      summary: 'Get a file of a batch',
      description: 'Its name, size, and when it is deleted.',
    }),
    FileIdParam(),
    ApiResponse({ status: 200, type: StoredFileView, headers }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents the download of a file. */
export function DescribeFileContent(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getFileContent',
      summary: 'Download a file of a batch',
      description: 'One JSON object per line. Results have the images that their lines return as base64.',
    }),
    FileIdParam(),
    ApiResponse({
      status: 200,
      description: 'JSON Lines.',
      headers,
      content: { 'application/jsonl': { schema: { type: 'string' } } },
    }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents the deletion of a file. */
export function DescribeDeletion(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'deleteFile',
      summary: 'Delete a file of a batch',
      description: 'Lines of a batch that have not been read from it yet fail.',
    }),
    FileIdParam(),
    ApiResponse({ status: 200, type: DeletedFile, headers }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents a new batch. */
export function DescribeNewBatch(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createBatch',
      summary: 'Run the requests of a file',
      description:
        'Each line is `{"custom_id", "method": "POST", "url", "body"}`, and becomes one task behind the other requests of its account. ' +
        'Images are returned as `response_format` of the line says; base64 is put in when the results are downloaded.',
    }),
    ApiResponse({ status: 200, type: BatchView, headers }),
    DescribeErrors(400, 409, 413, 415, 429),
    DescribeProtected(),
  );
}

/** Documents the pages of batches. */
export function DescribeBatches(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listBatches',
      summary: 'List batches, newest first',
      description: 'Pass `last_id` of a page as `after` to get the following page.',
    }),
    ApiQuery({ name: 'limit', required: false, schema: { type: 'integer', minimum: 1, maximum: 100, default: 20 } }),
    AFTER,
    ApiResponse({ status: 200, type: BatchList, headers }),
    DescribeErrors(400, 429),
    DescribeProtected(),
  );
}

/** Documents the poll of a batch. */
export function DescribeBatch(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getBatch',
      summary: 'Get a batch',
      description: 'Once it has ended, `output_file_id` and `error_file_id` name its results.',
    }),
    BatchIdParam(),
    ApiResponse({ status: 200, type: BatchView, headers }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

/** Documents what canceling ends. */
export function DescribeBatchCancel(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'cancelBatch',
      summary: 'Cancel a batch',
      description:
        'Lines that have not started never will; running tasks are cancelled like single ones. What was done is in the files of the batch. ' +
        'Changes nothing once the results are being written.',
    }),
    BatchIdParam(),
    ApiResponse({ status: 200, type: BatchView, headers }),
    DescribeErrors(404, 429),
    DescribeProtected(),
  );
}

function FileIdParam(): MethodDecorator {
  return ApiParam({ name: 'id', type: String, example: 'file_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' });
}

function BatchIdParam(): MethodDecorator {
  return ApiParam({ name: 'id', type: String, example: 'batch_01JD0Z8Q4M0W3E5V6T7R8Y9X0A' });
}
