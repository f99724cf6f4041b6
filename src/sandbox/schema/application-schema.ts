/** Certification applications and their answers. */
export const applicationSchema = ``
