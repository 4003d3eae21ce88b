import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOperation, ApiParam, ApiQuery, ApiResponse, getSchemaPath } from '@nestjs/swagger';
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

const HELD =
  'Passed to the provider that holds the response, for 30 days. Only responses with `store` other than `false` are held.';

/** Calls about a stored response: their summary, and the names of their query parameters. */
const STORED = {
  getResponse: { summary: 'Get a response', query: ['include', 'stream', 'starting_after', 'include_obfuscation'] },
  deleteResponse: { summary: 'Delete a response', query: [] },
  cancelResponse: { summary: 'Cancel a response in the background', query: [] },
  listInputItems: { summary: "List a response's input items", query: ['include', 'limit', 'order', 'after', 'before'] },
} as const;

/** Documents a call about a stored response; its response is the provider's. */
export function DescribeStored(operationId: keyof typeof STORED): MethodDecorator {
  const { summary, query } = STORED[operationId];
  const isResponse = operationId === 'getResponse' || operationId === 'cancelResponse';
  return applyDecorators(
    ApiOperation({ operationId, summary, description: HELD }),
    ApiParam({ name: 'responseId', description: 'ID of the response.', schema: { type: 'string' } }),
    ...query.map((name) =>
      ApiQuery({ name, required: false, description: 'As in the OpenAI API.', schema: { type: 'string' } }),
    ),
    ApiResponse({
      status: 200,
      description: "The provider's response.",
      headers: PASSED_HEADERS,
      content: {
        'application/json': {
          schema: isResponse ? { $ref: getSchemaPath(ResponseView) } : { type: 'object', additionalProperties: true },
        },
        ...(operationId === 'getResponse' ? { 'text/event-stream': { schema: { type: 'string' } } } : {}),
      },
    }),
    DescribeErrors(400, 404, 429, 502),
    DescribeProtected(),
  );
}
