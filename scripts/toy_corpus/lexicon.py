"""The words: nouns with measure words, verb frames, adjectives and places.

Within every list the order is the rank: earlier words are drawn more often.
"""

# Count nouns by semantic class: "english=Chinese/measure word", irregular plurals as "singular+plural".
NOUNS: dict[str, str] = {
    "food": """apple=苹果/个 egg=鸡蛋/个 dumpling=饺子/个 cake=蛋糕/个 banana=香蕉/根 sandwich=三明治/个
        orange=橙子/个
        steamed_bun=包子/个 tomato+tomatoes=西红柿/个 potato+potatoes=土豆/个 pizza=披萨/个 hamburger=汉堡/个
        pear=梨/个
        peach=桃子/个 cookie=饼干/块 watermelon=西瓜/个 sausage=香肠/根 carrot=胡萝卜/根 pancake=煎饼/张
        mooncake=月饼/个
        strawberry=草莓/颗 mango+mangoes=芒果/个 spring_roll=春卷/个 pineapple=菠萝/个 apricot=杏子/个""",
    "reading": """book=书/本 newspaper=报纸/份 novel=小说/本 magazine=杂志/本 textbook=课本/本 dictionary=词典/本
        biography=传记/本 comic_book=漫画书/本 guidebook=旅行指南/本 cookbook=食谱/本 atlas=地图册/本""",
    "text": """report=报告/份 article=文章/篇 letter=信/封 story=故事/个 email=电子邮件/封 document=文件/份
        contract=合同/份
        paper=论文/篇 poem=诗/首 essay=散文/篇 brochure=宣传册/本 manuscript=手稿/份 speech=演讲稿/篇""",
    "clothing": """coat=大衣/件 shirt=衬衫/件 skirt=裙子/条 hat=帽子/顶 dress=连衣裙/条 jacket=夹克/件 sweater=毛衣/件
        scarf+scarves=围巾/条 tie=领带/条 T-shirt=T恤/件 suit=西装/套 raincoat=雨衣/件 belt=皮带/条 uniform=制服/套
        overcoat=外套/件""",
    "device": """computer=电脑/台 phone=手机/部 camera=相机/台 television=电视机/台 laptop=笔记本电脑/台 watch=手表/块
        refrigerator=冰箱/台 printer=打印机/台 washing_machine=洗衣机/台 radio=收音机/台 keyboard=键盘/个
        air_conditioner=空调/台 tablet=平板电脑/台 microwave_oven=微波炉/台 calculator=计算器/个
        projector=投影仪/台""",
    "vehicle": """car=汽车/辆 bicycle=自行车/辆 truck=卡车/辆 motorcycle=摩托车/辆 electric_car=电动汽车/辆
        van=面包车/辆
        boat=小船/条 tractor=拖拉机/台 sports_car=跑车/辆""",
    "household": """table=桌子/张 chair=椅子/把 cup=杯子/个 bag=包/个 key=钥匙/把 lamp=台灯/盏 bed=床/张
        umbrella=雨伞/把
        pen=钢笔/支 box+boxes=盒子/个 mirror=镜子/面 sofa=沙发/张 knife+knives=刀/把 plate=盘子/个 wallet=钱包/个
        suitcase=行李箱/个 map=地图/张 painting=画/幅 photo=照片/张 bottle=瓶子/个 towel=毛巾/条 pencil=铅笔/支
        bookshelf+bookshelves=书架/个 vase=花瓶/个 blanket=毯子/条 pillow=枕头/个 toy=玩具/个 gift=礼物/份
        toothbrush=牙刷/把 carpet=地毯/块 candle=蜡烛/根 basket=篮子/个 guitar=吉他/把 violin=小提琴/把 drum=鼓/面
        notebook=笔记本/个 ruler=尺子/把 hammer=锤子/把 ladder=梯子/架 bucket=水桶/个""",
    "animal": """dog=狗/只 cat=猫/只 bird=鸟/只 horse=马/匹 fish+fish=鱼/条 cow=牛/头 rabbit=兔子/只 sheep+sheep=羊/只
        duck=鸭子/只 chicken=鸡/只 pig=猪/头 goose+geese=鹅/只 goat=山羊/只 swan=天鹅/只 puppy=小狗/只
        kitten=小猫/只""",
    "wild": """monkey=猴子/只 panda=熊猫/只 elephant=大象/头 tiger=老虎/只 lion=狮子/头 deer+deer=鹿/只 parrot=鹦鹉/只
        turtle=乌龟/只 squirrel=松鼠/只 camel=骆驼/头 owl=猫头鹰/只 giraffe=长颈鹿/只 zebra=斑马/匹
        wolf+wolves=狼/只""",
    "film": """film=电影/部 TV_series+TV_series=电视剧/部 documentary=纪录片/部 cartoon=动画片/部 play=话剧/部
        programme=节目/个 match+matches=比赛/场 opera=歌剧/部""",
    "song": "song=歌/首 folk_song=民歌/首 love_song=情歌/首",
    "issue": """problem=问题/个 plan=计划/个 project=项目/个 proposal=提案/项 policy=政策/项 method=方法/种
        case=案例/个
        theory=理论/种 budget=预算/份 agreement=协议/份 survey=调查/项 experiment=实验/个 phenomenon+phenomena=现象/种
        strategy=战略/项 reform=改革方案/项 disease=疾病/种 language=语言/种""",
    "design": """website=网站/个 bridge=桥/座 building=大楼/栋 app=应用程序/个 system=系统/个 robot=机器人/个
        logo=标志/个""",
}

# Nouns that are counted by a container or in pairs: "english/container=Chinese/measure word".
MEASURED: dict[str, str] = {
    "drink": """tea/cup=茶/杯 coffee/cup=咖啡/杯 water/glass=水/杯 milk/glass=牛奶/杯 beer/bottle=啤酒/瓶
        orange_juice/glass=橙汁/杯 soy_milk/bowl=豆浆/碗 green_tea/cup=绿茶/杯 red_wine/glass=红酒/杯
        hot_chocolate/cup=热巧克力/杯 lemonade/glass=柠檬水/杯 apple_juice/glass=苹果汁/杯""",
    "meal": """rice/bowl=米饭/碗 noodles/bowl=面条/碗 bread/slice=面包/片 soup/bowl=汤/碗 porridge/bowl=粥/碗
        roast_duck/plate=烤鸭/盘 salad/plate=沙拉/盘 tofu/plate=豆腐/盘 cheese/piece=奶酪/块""",
    "pairs": """shoes/pair=鞋子/双 trousers/pair=裤子/条 gloves/pair=手套/副 jeans/pair=牛仔裤/条 socks/pair=袜子/双
        glasses/pair=眼镜/副 boots/pair=靴子/双""",
}

# "english/comparative=attributive Chinese/predicate Chinese"; without a comparative, only before a noun.
ADJECTIVES: dict[str, str] = {
    "food": """fresh/fresher=新鲜的/新鲜 big/bigger=大/大 delicious/more_delicious=好吃的/好吃
        cheap/cheaper=便宜的/便宜""",
    "reading": """new=新 interesting/more_interesting=有趣的/有趣 thick/thicker=厚厚的/厚 old=旧
        famous/more_famous=著名的/有名 useful/more_useful=有用的/有用""",
    "clothing": """new=新 red=红色的 beautiful/more_beautiful=漂亮的/漂亮 black=黑色的
        expensive/more_expensive=昂贵的/贵
        blue=蓝色的 warm/warmer=暖和的/暖和 white=白色的 cheap/cheaper=便宜的/便宜 grey=灰色的""",
    "device": """new=新 expensive/more_expensive=昂贵的/贵 old=旧 cheap/cheaper=便宜的/便宜 second-hand=二手
        light/lighter=轻便的/轻便 advanced/more_advanced=先进的/先进""",
    "vehicle": """new=新 red=红色的 old=旧 second-hand=二手 expensive/more_expensive=昂贵的/贵 black=黑色的
        comfortable/more_comfortable=舒适的/舒适""",
    "household": """new=新 small/smaller=小/小 beautiful/more_beautiful=漂亮的/漂亮 big/bigger=大/大 old=旧
        heavy/heavier=很重的/重 expensive/more_expensive=昂贵的/贵 unusual=别致的""",
    "text": """important/more_important=重要的/重要 new=新的 long/longer=很长的/长
        interesting/more_interesting=有趣的/有趣
        useful/more_useful=有用的/有用 short/shorter=简短的/短""",
    "wild": "big/bigger=大/大 cute/cuter=可爱的/可爱 young=年幼的 clever/cleverer=聪明的/聪明",
    "animal": """small/smaller=小/小 white=白色的 cute/cuter=可爱的/可爱 black=黑色的 big/bigger=大/大
        clever/cleverer=聪明的/聪明""",
    "film": """new=新 interesting/more_interesting=有趣的/有趣 exciting/more_exciting=精彩的/精彩
        famous/more_famous=著名的/有名""",
    "song": "new=新 beautiful/more_beautiful=好听的/好听 old=老 famous/more_famous=著名的/有名",
    "issue": """important/more_important=重要的/重要 new=新的 complicated/more_complicated=复杂的/复杂 similar=类似的
        simple/simpler=简单的/简单""",
    "design": "new=新的 modern/more_modern=现代的/现代 complicated/more_complicated=复杂的/复杂 big/bigger=大型/大",
    "drink": "",
    "meal": "",
    "pairs": "new=新 black=黑色的 expensive/more_expensive=昂贵的/贵 white=白色的",
}

# "english at; english to; Chinese at; Chinese to"; the second and fourth are empty where one cannot go there.
PLACES: dict[str, str] = {
    "shop": """at the supermarket;to the supermarket;在超市;去超市|at the market;to the market;在市场;去市场
        |at the department store;to the department store;在百货商店;去百货商店|online;;在网上;
        |at the shopping centre;to the shopping centre;在购物中心;去购物中心|downtown;downtown;在市中心;去市中心""",
    "eat": """at home;home;在家;回家|at a restaurant;to a restaurant;在一家餐馆;去一家餐馆
        |in the canteen;to the canteen;在食堂;去食堂
        |in the kitchen;to the kitchen;在厨房里;去厨房|at the hotel;to the hotel;在酒店;去酒店""",
    "diner": """at a restaurant;to a restaurant;在一家餐馆;去一家餐馆|in the canteen;to the canteen;在食堂;去食堂
        |at the café;to the café;在咖啡馆;去咖啡馆|at the hotel;to the hotel;在酒店;去酒店""",
    "read": """at home;home;在家;回家|in the library;to the library;在图书馆;去图书馆
        |in the office;to the office;在办公室;去办公室
        |on the train;;在火车上;|in the park;to the park;在公园里;去公园
        |in the classroom;to the classroom;在教室里;去教室
        |on the plane;;在飞机上;|at the café;to the café;在咖啡馆;去咖啡馆""",
    "office": """in the office;to the office;在办公室;去办公室|at the company;to the company;在公司;去公司
        |in the meeting room;to the meeting room;在会议室;去会议室|at the bank;to the bank;在银行;去银行""",
    "desk": """in the office;to the office;在办公室;去办公室|at home;home;在家;回家
        |in the library;to the library;在图书馆;去图书馆
        |at the university;to the university;在大学;去大学""",
    "library": "from the library;to the library;从图书馆;去图书馆|from the school;to the school;从学校;去学校",
    "home": """at home;home;在家;回家|in the yard;to the yard;在院子里;去院子里
        |in the garden;to the garden;在花园里;去花园""",
    "workshop": """in the garage;to the garage;在车库里;去车库|in the workshop;to the workshop;在车间;去车间
        |at the factory;to the factory;在工厂;去工厂""",
    "outdoors": """in the park;to the park;在公园里;去公园|at the zoo;to the zoo;在动物园;去动物园
        |by the river;to the river;在河边;去河边|in the village;to the village;在村子里;去村里
        |on the farm;to the farm;在农场;去农场|by the lake;to the lake;在湖边;去湖边""",
    "lab": """in the laboratory;to the laboratory;在实验室;去实验室|at the university;to the university;在大学;去大学
        |at the research institute;to the research institute;在研究所;去研究所""",
    "watch": """at home;home;在家;回家|in the dormitory;to the dormitory;在宿舍;回宿舍
        |at the theatre;to the theatre;在剧院;去剧院
        |at school;to school;在学校;去学校""",
}

# "english=Chinese=objects (classes or nouns)=kind of place", with * where one does it habitually.
VERBS = """buy=买=reading,clothing,device,food,household,vehicle,pairs=shop
read=看=reading,text=read*
eat=吃=food,meal=eat*
drink=喝=drink=eat*
watch=看=film=watch*
write=写=letter,report,article,novel,story,poem,email,paper,essay,speech=desk*
discuss=讨论=issue,contract,report,film,novel=office*
study=研究=issue,language=lab*
draw=画=animal,flower,wild=home*
order=点=food,drink,meal=diner*
borrow=借=book,novel,magazine,dictionary,textbook,comic_book,guidebook=library*
repair=修理=device,vehicle,sofa,table,chair,lamp=workshop*
wash=洗=clothing,cup,plate,towel,blanket,car,pairs=home
listen to=听=song,story=watch*
feed=喂=animal,wild=outdoors*
photograph=拍摄=animal,wild,bridge,building=outdoors*
translate=翻译=text,novel,biography,textbook=desk*
sing=唱=song=watch*
design=设计=design,clothing,experiment=office*
choose=挑选=clothing,household,pairs=shop
print=打印=report,article,contract,document,photo,map=office
review=审查=contract,proposal,plan,budget,document,agreement=office*
sign=签署=contract,agreement,document=office
test=测试=device,app,system,robot,website=lab*
clean=打扫=room,kitchen,classroom=home
copy=复印=document,contract,letter,report=office
rent=租=car,bicycle,boat,van=outdoors
download=下载=film,song,document,app,documentary=read
paint=粉刷=room,wall,kitchen=home"""

# Nouns that only a few frames use.
EXTRA_NOUNS = """flower=花/朵 room=房间/个 kitchen=厨房/间 classroom=教室/间 wall=墙/面 clock=挂钟/个 taxi=出租车/辆
bus+buses=公共汽车/辆"""

# "english past=Chinese result=objects": what one does with 把.
RESULTS = """finish=看完=reading,text,film
sell=卖掉=vehicle,device,painting,sofa,guitar
repair=修好=device,vehicle,lamp,chair
lose=弄丢=key,umbrella,wallet,phone,watch,camera,letter,hat,scarf,map,notebook
wash=洗干净=clothing,cup,plate,towel,car,blanket
break=打碎=cup,plate,mirror,vase,bottle
eat up=吃完=food
throw away=扔掉=newspaper,box,bottle,chair,magazine,bag,toothbrush,towel
hide=藏起来=key,letter,gift,wallet,photo
translate=翻译完=report,article,novel,letter,contract,poem
pack=包好=gift,cake,vase,cup
put away=收起来=umbrella,knife,toy,guitar,coat,blanket,notebook
solve=解决=problem"""

# The Chinese verb of wearing, where it is not 穿.
WEARING = {
    "hats": "戴",
    "scarves": "戴",
    "watches": "戴",
    "gloves": "戴",
    "glasses": "戴",
    "ties": "系",
    "belts": """系""",
}

# Chinese verbs of work, and of actions that are done to a thing only once.
CHORES = ("写", "修理", "洗", "翻译", "设计", "打印", "审查", "测试", "打扫", "复印", "粉刷")
CONSUMPTION = ("买", "吃", "喝", "点", "挑选", "租", "签署", "听", "下载")

# Chinese verbs of what friends do together.
LEISURE = ("看", "吃", "喝", "画", "听", "唱")
