printf '#include <c10/metal/special_math.h>\n' | kymo shader -
