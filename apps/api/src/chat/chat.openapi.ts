import { applyDecorators } from '@nestjs/common';
import { ApiBody, ApiExtraModels, ApiOperation, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import { ChatCompletionBody, ChatCompletionView } from '#contract/chat-request-view.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';

/** Documents only the fields that this service reads or returns; the others are the provider's. */
export function DescribeChat(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'createChatCompletion',
      summary: 'Chat',
      description:
        'Passed on to the provider of the model, and its answer back, byte for byte; every field of OpenAI may be sent. ' +
        'With an image model, the last user message is the prompt, earlier messages do not count, and the answer is a generated image: a link as Markdown in `content`, and the same link in ' +
        '`images` of the message (of the delta, in a stream).',
    }),
    ApiBody({ type: ChatCompletionBody }),
    ApiResponse({
      status: 200,
      description:
        "The provider's answer. With `stream: true` OpenAI's events, ended by `data: [DONE]`. Errors of the provider " +
        'keep their status and what it said, in the one error body.',
      headers: {
        ...REQUEST_ID_HEADER,
        'openai-processing-ms': { description: "The provider's own time.", schema: { type: 'integer' } },
      },
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
