"""Sentences in 13 languages."""

LANGUAGES = [
    "The quick brown fox jumped over 12 lazy dogs, didn't it?",
    "Der schnelle Fuchs sprang über den faulen Hund – größer als je zuvor.",
    "Le renard brun n'a pas sauté par-dessus l'œuvre du garçon.",
    "El zorro marrón saltó rápidamente; ¿dónde está el niño?",
    "Быстрая лисица прыгнула через ленивую собаку в 2024 году.",
    "敏捷的棕色狐狸跳过了懒狗，今天天气很好。",
    "素早い茶色のキツネが、のろまな犬を飛び越えました。",
    "빠른 갈색 여우가 게으른 개를 뛰어넘었습니다.",
    "قفز الثعلب البني السريع فوق الكلب الكسول.",
    "तेज़ भूरी लोमड़ी आलसी कुत्ते के ऊपर कूद गई।",
    "สุนัขจิ้งจอกสีน้ำตาลกระโดดข้ามสุนัขขี้เกียจ",
    "Con cáo nâu nhanh nhẹn nhảy qua con chó lười biếng.",
    "ፈጣኑ ቡናማ ቀበሮ ሰነፉን ውሻ ዘለለ።",
]
