import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOperation, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ResponseBody, ResponseView } from '#contract/response-view.js';
import { DescribeErrors, DescribeProtected } from '../common/describe.js';
import { PASSED_HEADERS } from './chat.openapi.js';

/** Documents only the fields that this service reads or returns; the others are the provider's. */
export function DescribeResponse(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createResponse',
      summary: 'Response',
      description:
        "Only with a chat model. Request and response are passed through unchanged; all of OpenAI's fields are allowed. Image models, and the " +
        "image_generation tool where the model's price does not cover tools, are refused: use the Images API.",
    }),
    ApiBody({ type: ResponseBody }),
    ApiResponse({
      status: 200,
      description:
        "The provider's response. With `stream: true`, OpenAI's server-sent events. Provider errors keep their status and message, in " +
        'the error format of this API.',
      headers: PASSED_HEADERS,
      content: {
        'application/json': { schema: { $ref: getSchemaPath(ResponseView) } },
        'text/event-stream': { schema: { type: 'string' } },
      },
    }),
    ApiExtraModels(ResponseView),
    DescribeErrors(400, 402, 404, 413, 415, 429, 502, 504),
    DescribeProtected(),
  );
}
