import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { ModelListResponse, ModelView } from '#contract/model-view.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';

/** Documents the list in OpenAI's format, with additional fields. */
export function DescribeModelList(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listModels',
      summary: 'List the models this key may use',
      description: 'Image models and chat models, with what they can do and what they cost.',
    }),
    ApiResponse({ status: 200, type: ModelListResponse, headers: REQUEST_ID_HEADER }),
    DescribeProtected(),
  );
}

/** Documents the 404 for unknown models and for those that the key may not use. */
export function DescribeModel(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'getModel',
      summary: 'Get a model',
      description: 'A model that the key may not use is answered like one that does not exist.',
    }),
    ApiParam({ name: 'modelId', type: String, example: 'gpt-image-2' }),
    ApiResponse({ status: 200, type: ModelView, headers: REQUEST_ID_HEADER }),
    DescribeErrors(404),
    DescribeProtected(),
  );
}
