import { around, instead } from './page-case.ts'

const listOf = (list: string, value: string) => `{${JSON.stringify(list)}:${value}}`

/** The document as a whole: no JSON, another shape, or something around it. */
export const structureCases = {
  empty: instead('The file has no bytes.', ''),
  'white-space-alone': instead('The file is white space.', ' \n '),
  'empty-object': instead('The file is an object without members.', '{}'),
  'array-at-the-top': instead('The file is an array.', '[]'),
  'text-at-the-top': instead('The file is a string.', ({ list }) => JSON.stringify(list)),
  'null-at-the-top': instead('The file is null.', 'null'),
  html: instead('The file is a page of HTML.', '<html><body>Bad gateway</body></html>'),
  'companies-missing': instead('The list is missing.', ({ names }) => listOf(names.customProperties, '[]')),
  'companies-null': instead('The list is null.', ({ list }) => listOf(list, 'null')),
  'companies-object': instead('The list is an object.', ({ list }) => listOf(list, '{}')),
  'companies-text': instead('The list is a string.', ({ list }) => listOf(list, '"[]"')),
  'companies-in-other-letters': instead('The name of the list begins with a capital letter.', ({ list }) =>
    listOf(`${list.slice(0, 1).toUpperCase()}${list.slice(1)}`, '[]'),
  ),
  'companies-twice': around('The list is there twice.', ({ tail }, { list }) => ({
    tail: `],${JSON.stringify(list)}:[${tail}`,
  })),
  'companies-nested-deeper': around('The list stands one level deeper.', ({ head, tail }) => ({
    head: `{"page":${head}`,
    tail: `${tail}}`,
  })),
  'variables-null': around('The list of variables is null.', (_frame, { list, names }) => ({
    head: `{${JSON.stringify(names.calculatorVariables)}:null,${JSON.stringify(list)}:[`,
  })),
  'variables-twice': around('The list of variables is there twice.', (_frame, { list, names }) => {
    const variables = `${JSON.stringify(names.calculatorVariables)}:[],`
    return { head: `{${variables}${variables}${JSON.stringify(list)}:[` }
  }),
  'properties-object': around('The list of custom properties is an object.', (_frame, { list, names }) => ({
    head: `{${JSON.stringify(names.customProperties)}:{},${JSON.stringify(list)}:[`,
  })),
  'trailing-garbage': around('Something stands behind the end.', ({ tail }) => ({ tail: `${tail} x` })),
  'bracket-too-many': around('There is a bracket too many at the end.', ({ tail }) => ({ tail: `${tail}}` })),
  'two-documents': around('A second document follows.', ({ tail }, { list }) => ({
    tail: `${tail}\n${listOf(list, '[]')}`,
  })),
  'nul-behind-the-end': around('A NUL stands behind the end.', ({ tail }) => ({ tail: `${tail}\0` })),
  'comment-in-the-text': around('A comment stands in the text.', ({ tail }) => ({ tail: `/* none */${tail}` })),
  'comma-too-many': around('The list ends with a comma.', ({ tail }) => ({ tail: `,${tail}` })),
}
