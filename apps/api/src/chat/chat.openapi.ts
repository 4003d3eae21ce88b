import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOperation, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ChatCompletionBody, ChatCompletionView } from '#contract/chat-request-view.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';

/** Headers of a provider's response, plain or streamed. */
export const PASSED_HEADERS = {
  ...REQUEST_ID_HEADER,
  'openai-processing-ms': {
    description: 'Processing time reported by the provider.',
    schema: { type: 'integer' as const },
  },
};

/** Documents only the fields that this service reads or returns; the others are the provider's. */
export function DescribeChat(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createChatCompletion',
      summary: 'Chat',
      description:
        'With a chat model, request and response are passed through unchanged; all OpenAI fields are allowed. ' +
        'With an image model, the last user message is the prompt, earlier messages are ignored, and the response is a generated image: a Markdown link in `content`, and the same link in ' +
        '`images` of the message (in a stream, of the delta).',
    }),
    ApiBody({ type: ChatCompletionBody }),
    ApiResponse({
      status: 200,
      description:
        "The provider's response. With `stream: true`, OpenAI's server-sent events, ending with `data: [DONE]`. Provider errors " +
        'keep their status and message, in the error format of this API.',
      headers: PASSED_HEADERS,
      content: {
        'application/json': { schema: { $ref: getSchemaPath(ChatCompletionView) } },
        'text/event-stream': { schema: { type: 'string' } },
      },
    }),
    ApiExtraModels(ChatCompletionView),
    DescribeErrors(400, 402, 404, 409, 413, 415, 422, 429, 502, 504),
    DescribeProtected(),
  );
}
