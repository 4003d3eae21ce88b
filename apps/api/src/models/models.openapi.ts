import { applyDecorators } from '@nestjs/common';
import { ApiOperation, ApiParam, ApiResponse } from '@nestjs/swagger';
import { ModelListResponse, ModelView } from '#contract/model-view.js';
import { DescribeErrors, DescribeProtected, REQUEST_ID_HEADER } from '../common/describe.js';

/** Documents the list in OpenAI's format, with additional fields. */
export function DescribeModelList(): MethodDecorator {
  return applyDecorators(
    ApiOperation({
      operationId: 'listModels',
      summary: 'List available models',
      description: 'Image and chat models with their capabilities, limits, and prices.',
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
      description: 'A model that the API key may not use returns 404, like one that does not exist.',
    }),
    ApiParam({ name: 'modelId', type: String, example: 'gpt-image-2' }),
    ApiResponse({ status: 200, type: ModelView, headers: REQUEST_ID_HEADER }),
    DescribeErrors(404),
    DescribeProtected(),
  );
}
